//! The Start request.

use callwright_domain::audio::Encoding;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value, json};

/// What a session is started with.
#[derive(Debug, Clone)]
pub struct Start {
    /// Whose session it is.
    pub tenant: String,
    /// The access token; empty where the server asks for none.
    pub token: SecretString,
    /// The flow project to run.
    pub project: String,
    /// Samples per second of each channel.
    pub sample_rate: u32,
    /// 1 (mono) or 2 (stereo, interleaved).
    pub channels: u16,
    /// How a sample is written.
    pub encoding: Encoding,
    /// The language of the call, for example `en-GB`.
    pub language: Option<String>,
    /// Project parameters.
    pub settings: Map<String, Value>,
    /// What the caller's systems know of the call, for example `ExternalId`.
    pub call_properties: Map<String, Value>,
}

impl Start {
    /// The request as JSON. It holds the token: send it, never print it.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut body = json!({
            "MessageName": "Start",
            "Tenant": self.tenant,
            "Token": self.token.expose_secret(),
            "ProjectName": self.project,
            "Audio": {
                "SampleRate": self.sample_rate,
                "ChannelCount": self.channels,
                "Encoding": self.encoding.as_str(),
            },
        });
        if let Some(fields) = body.as_object_mut() {
            self.add_optional(fields);
        }
        body.to_string()
    }

    fn add_optional(&self, fields: &mut Map<String, Value>) {
        if let Some(language) = &self.language {
            fields.insert("Language".to_owned(), language.as_str().into());
        }
        if !self.settings.is_empty() {
            fields.insert("Settings".to_owned(), self.settings.clone().into());
        }
        if !self.call_properties.is_empty() {
            fields.insert(
                "CallProperties".to_owned(),
                self.call_properties.clone().into(),
            );
        }
    }
}

/// A project parameter as given on a command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The parameter's name.
    pub key: String,
    /// Its value: JSON where the text is JSON (`0.5`, `true`, `["a","b"]`), a string otherwise.
    pub value: Value,
}

/// The text is not `key=value`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a setting is written key=value")]
pub struct BadSetting;

impl std::str::FromStr for Setting {
    type Err = BadSetting;

    fn from_str(text: &str) -> Result<Self, BadSetting> {
        let (key, value) = text.split_once('=').ok_or(BadSetting)?;
        if key.trim().is_empty() {
            return Err(BadSetting);
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        Ok(Self {
            key: key.trim().to_owned(),
            value,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Start {
        Start {
            tenant: "acme".to_owned(),
            token: "t0ken".to_owned().into(),
            project: "demo-stream".to_owned(),
            sample_rate: 8_000,
            channels: 2,
            encoding: Encoding::Ulaw,
            language: None,
            settings: Map::new(),
            call_properties: Map::new(),
        }
    }

    #[test]
    fn the_request_names_everything_the_interface_wants() {
        insta::assert_snapshot!(start().to_json(), @r#"{"Audio":{"ChannelCount":2,"Encoding":"ulaw","SampleRate":8000},"MessageName":"Start","ProjectName":"demo-stream","Tenant":"acme","Token":"t0ken"}"#);
    }

    #[test]
    fn optional_parts_appear_only_when_given() {
        let mut start = start();
        start.language = Some("en-GB".to_owned());
        start.settings.insert("sensitivity".to_owned(), json!(0.7));
        start
            .call_properties
            .insert("ExternalId".to_owned(), json!("call-7"));
        let body: Value = serde_json::from_str(&start.to_json()).unwrap();
        assert_eq!(body["Language"], "en-GB");
        assert_eq!(body["Settings"]["sensitivity"], 0.7);
        assert_eq!(body["CallProperties"]["ExternalId"], "call-7");
    }

    #[test]
    fn the_token_stays_out_of_debug_output() {
        assert!(!format!("{:?}", start()).contains("t0ken"));
    }

    #[test]
    fn settings_keep_the_type_they_are_written_in() {
        let cases = [
            ("a=0.5", json!(0.5)),
            ("a=true", json!(true)),
            ("a=[\"l\",\"r\"]", json!(["l", "r"])),
            ("a=plain words", json!("plain words")),
            ("a=x=y", json!("x=y")),
            ("a=", json!("")),
        ];
        for (text, value) in cases {
            assert_eq!(
                text.parse(),
                Ok(Setting {
                    key: "a".to_owned(),
                    value
                }),
                "{text}"
            );
        }
        assert_eq!("a".parse::<Setting>(), Err(BadSetting));
        assert_eq!("=1".parse::<Setting>(), Err(BadSetting));
    }
}
