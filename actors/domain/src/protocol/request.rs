//! What a client asks: Start, Update, Finalize, Stop, and the events it sends into the flow.

use serde_json::{Map, Value};

use super::fields::{Fields, fold_key, invalid, kind};
use super::refusal::{ErrorValue, Refusal};
use crate::audio::{AudioFormat, Encoding, HIGHEST_RATE, LOWEST_RATE, SampleRate};
use crate::event::{Event, NOT_APPLICABLE, names};
use crate::flow::{Parameters, schema_words};

/// Longest text taken for a name or a language, in characters.
const TEXT_LIMIT: usize = 256;

/// A request that was understood.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Begins the session.
    Start(Box<Start>),
    /// Gives parameters new values.
    Update(Parameters),
    /// Flushes every node, then ends.
    Finalize,
    /// Ends at once.
    Stop,
}

/// What a Start says. Its `Debug` output hides the token.
#[derive(Clone, PartialEq)]
pub struct Start {
    /// Whose session it is, as the client says.
    pub tenant: String,
    /// The access token.
    pub token: String,
    /// The project to run.
    pub project: String,
    /// The audio to come.
    pub format: AudioFormat,
    /// The encoding of audio from the server.
    pub output: Encoding,
    /// A language code, if one was given.
    pub language: Option<String>,
    /// Values for parameters of the project.
    pub parameters: Parameters,
    /// Tags for the events of each channel, from channel 0.
    pub channel_tags: Vec<Vec<String>>,
    /// What the client says of the call, `ExternalId` among it.
    pub call_properties: Map<String, Value>,
}

impl std::fmt::Debug for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Start")
            .field("tenant", &self.tenant)
            .field("project", &self.project)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    /// A [`Refusal`] with the name under which to answer: `invalid-request`, `unsupported-audio` or `unknown-request`.
    pub fn parse(content: &str) -> Result<Self, (String, Refusal)> {
        const UNNAMED: &str = "";
        let unnamed = |refusal| (UNNAMED.to_owned(), refusal);
        let value: Value = serde_json::from_str(content)
            .map_err(|fault| unnamed(invalid(format!("the request is not JSON: {fault}"))))?;
        let fields = Fields::of("", &value).map_err(unnamed)?;
        let name = fields.text("MessageName").map_err(unnamed)?;
        let named = |name: &'static str| move |refusal| (name.to_owned(), refusal);
        match fold_key(name).as_str() {
            "start" => Start::read(&fields)
                .map(|start| Self::Start(Box::new(start)))
                .map_err(named("Start")),
            "update" => read_update(&fields)
                .map(Self::Update)
                .map_err(named("Update")),
            "finalize" => Ok(Self::Finalize),
            "stop" => Ok(Self::Stop),
            _ => {
                let shown: String = name.chars().take(64).collect();
                let message =
                    format!("`{shown}` is no request; there are Start, Update, Finalize and Stop");
                Err((shown, Refusal::new(ErrorValue::UnknownRequest, message)))
            }
        }
    }

    /// The request's name as answers spell it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Start(_) => "Start",
            Self::Update(_) => "Update",
            Self::Finalize => "Finalize",
            Self::Stop => "Stop",
        }
    }
}

impl Start {
    /// Missing fields are named before the values of others are judged.
    fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let tenant = limited(fields, "Tenant")?;
        let token = token(fields)?;
        let project = limited(fields, "ProjectName")?;
        let audio = Fields::of("Audio", fields.required("Audio")?)?;
        let (parameters, channel_tags) = settings(fields)?;
        let call_properties = match fields.get("CallProperties") {
            None => Map::new(),
            Some(Value::Object(properties)) => properties.clone(),
            Some(other) => {
                return Err(invalid(format!(
                    "`CallProperties` must be an object, not {}",
                    kind(other)
                )));
            }
        };
        let (format, output) = read_audio(&audio)?;
        Ok(Self {
            tenant,
            token,
            project,
            format,
            output,
            language: fields
                .optional_text("Language")?
                .map(|text| text.chars().take(TEXT_LIMIT).collect()),
            parameters,
            channel_tags,
            call_properties,
        })
    }
}

/// An absent token is a matter of tokens, not of the request's shape.
fn token(fields: &Fields<'_>) -> Result<String, Refusal> {
    let absent = || {
        Refusal::new(
            ErrorValue::InvalidToken,
            "`Token` is missing: an access token is required",
        )
    };
    match fields.get("Token") {
        None => Err(absent()),
        Some(Value::String(token)) if token.trim().is_empty() => Err(absent()),
        Some(Value::String(token)) => {
            let token = token.trim();
            Ok(token
                .strip_prefix("Bearer ")
                .unwrap_or(token)
                .trim()
                .to_owned())
        }
        Some(other) => Err(invalid(format!(
            "`Token` must be text, not {}",
            kind(other)
        ))),
    }
}

fn limited(fields: &Fields<'_>, name: &str) -> Result<String, Refusal> {
    let text = fields.text(name)?;
    if text.chars().count() > TEXT_LIMIT {
        return Err(invalid(format!("`{name}` is over {TEXT_LIMIT} characters")));
    }
    Ok(text.to_owned())
}

fn read_audio(audio: &Fields<'_>) -> Result<(AudioFormat, Encoding), Refusal> {
    let (hertz, channels) = (audio.integer("SampleRate")?, audio.integer("ChannelCount")?);
    let written = audio.text("Encoding")?;
    let rate = u32::try_from(hertz)
        .ok()
        .and_then(SampleRate::new)
        .ok_or_else(|| {
            unsupported(format!(
                "`Audio.SampleRate` is {hertz}, and must be {LOWEST_RATE} to {HIGHEST_RATE}"
            ))
        })?;
    let channels = u8::try_from(channels)
        .ok()
        .filter(|count| matches!(count, 1 | 2))
        .ok_or_else(|| {
            unsupported(format!(
                "`Audio.ChannelCount` is {channels}, and must be 1 or 2"
            ))
        })?;
    let encoding = encoding("Audio.Encoding", written)?;
    let output = match audio.get("Output") {
        None => encoding,
        Some(value) => {
            let fields = Fields::of("Audio.Output", value)?;
            match fields.optional_text("Encoding")? {
                None => encoding,
                Some(written) => self::encoding("Audio.Output.Encoding", written)?,
            }
        }
    };
    Ok((
        AudioFormat {
            rate,
            channels,
            encoding,
        },
        output,
    ))
}

fn encoding(field: &str, written: &str) -> Result<Encoding, Refusal> {
    match fold_key(written).as_str() {
        "pcm" => Ok(Encoding::Pcm),
        "ulaw" => Ok(Encoding::Ulaw),
        "alaw" => Ok(Encoding::Alaw),
        _ => {
            let shown: String = written.chars().take(32).collect();
            Err(unsupported(format!(
                "`{field}` is `{shown}`, and must be pcm, ulaw or alaw"
            )))
        }
    }
}

fn unsupported(message: String) -> Refusal {
    Refusal::new(ErrorValue::UnsupportedAudio, message)
}

fn read_update(fields: &Fields<'_>) -> Result<Parameters, Refusal> {
    fields.required("Settings")?;
    settings(fields).map(|(parameters, _)| parameters)
}

/// `Settings`: `ChannelTags`, and everything else a parameter of the project.
fn settings(fields: &Fields<'_>) -> Result<(Parameters, Vec<Vec<String>>), Refusal> {
    let Some(value) = fields.get("Settings") else {
        return Ok((Parameters::new(), Vec::new()));
    };
    let settings = Fields::of("Settings", value)?;
    let tags = settings
        .get("ChannelTags")
        .map(channel_tags)
        .transpose()?
        .unwrap_or_default();
    let parameters = settings
        .entries()
        .filter(|(name, value)| fold_key(name) != "channeltags" && !value.is_null())
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    Ok((parameters, tags))
}

/// Tags per channel: a list with an entry per channel (a text or a list of texts), or an object keyed by channel number.
fn channel_tags(value: &Value) -> Result<Vec<Vec<String>>, Refusal> {
    let fault = || {
        invalid(
            "`Settings.ChannelTags` must be a list with a text or a list of texts for each of at most 2 channels, \
             or an object with the channel's number as key",
        )
    };
    let mut all = vec![Vec::new(), Vec::new()];
    let numbered: Vec<(usize, &Value)> = match value {
        Value::Array(channels) => channels.iter().enumerate().collect(),
        Value::Object(channels) => channels
            .iter()
            .map(|(key, tags)| key.trim().parse().map(|channel| (channel, tags)))
            .collect::<Result<_, _>>()
            .map_err(|_| fault())?,
        _ => return Err(fault()),
    };
    for (channel, tags) in numbered {
        *all.get_mut(channel).ok_or_else(fault)? = tags_of(tags).ok_or_else(fault)?;
    }
    Ok(all)
}

fn tags_of(value: &Value) -> Option<Vec<String>> {
    const MOST_TAGS: usize = 16;
    let short = |value: &Value| {
        value
            .as_str()
            .filter(|tag| tag.chars().count() <= TEXT_LIMIT)
            .map(str::to_owned)
    };
    match value {
        Value::Array(tags) if tags.len() <= MOST_TAGS => tags.iter().map(short).collect(),
        Value::Array(_) => None,
        one => short(one).map(|tag| vec![tag]),
    }
}

/// Reads an event from a client: `{"Event":{"Name":…}}`.
///
/// # Errors
/// A [`Refusal`] `invalid-request` that names the field.
pub fn client_event(content: &str) -> Result<Event, Refusal> {
    let value: Value = serde_json::from_str(content)
        .map_err(|fault| invalid(format!("the event is not JSON: {fault}")))?;
    let outer = Fields::of("", &value)?;
    let fields = Fields::of("Event", outer.required("Event")?)?;
    let name = fields.text("Name")?;
    if name.chars().count() > TEXT_LIMIT {
        return Err(invalid(format!(
            "`Event.Name` is over {TEXT_LIMIT} characters"
        )));
    }
    if name == names::SESSION_ENDED {
        return Err(invalid(format!(
            "`Event.Name` `{name}` is the service's own: it means that the session is over"
        )));
    }
    let mut event = Event::new(name);
    event.channel = number(&fields, "Channel")?
        .map_or(Ok(NOT_APPLICABLE as i32), i32::try_from)
        .map_err(|_| {
            invalid("`Event.Channel` must be a channel number, -2 for all or -1 for none")
        })?;
    event.start_msec = number(&fields, "StartMsec")?.unwrap_or(NOT_APPLICABLE);
    event.end_msec = number(&fields, "EndMsec")?.unwrap_or(NOT_APPLICABLE);
    event.group_id = fields
        .optional_text("GroupId")?
        .unwrap_or_default()
        .to_owned();
    if let Some(tags) = fields.get("Tags") {
        event.tags = tags_of(tags)
            .ok_or_else(|| invalid("`Event.Tags` must be a list of at most 16 texts"))?;
    }
    match fields.get("Data") {
        None => {}
        Some(Value::Object(data)) => event.data = data.clone(),
        Some(other) => {
            return Err(invalid(format!(
                "`Event.Data` must be an object, not {}",
                kind(other)
            )));
        }
    }
    Ok(event)
}

fn number(fields: &Fields<'_>, name: &str) -> Result<Option<i64>, Refusal> {
    let Some(value) = fields.get(name) else {
        return Ok(None);
    };
    let fault = || {
        invalid(format!(
            "`{}` must be a whole number, not {}",
            fields.full(name),
            schema_words::brief(value)
        ))
    };
    schema_words::as_integer(value).map(Some).ok_or_else(fault)
}
