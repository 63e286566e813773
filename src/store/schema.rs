//! The tables, as both databases have them.

diesel::table! {
    tenants (id) {
        id -> Text,
        created_at -> Timestamp,
    }
}

diesel::table! {
    oauth_clients (id) {
        id -> Text,
        tenant -> Text,
        secret_hash -> Text,
        scopes -> Text,
        created_at -> Timestamp,
    }
}

diesel::table! {
    signing_keys (kid) {
        kid -> Text,
        private_key_pem -> Text,
        public_jwk -> Text,
        created_at -> Timestamp,
        retired_at -> Nullable<Timestamp>,
        published_until -> Nullable<Timestamp>,
    }
}

diesel::table! {
    projects (tenant, name) {
        tenant -> Text,
        name -> Text,
        kind -> Text,
        definition -> Text,
        version -> Integer,
        updated_at -> Timestamp,
    }
}
