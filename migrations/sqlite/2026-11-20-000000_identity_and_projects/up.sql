-- Times are UTC. Identifiers are UUID v7 text unless said otherwise.
CREATE TABLE tenants (
    id         TEXT PRIMARY KEY,
    created_at TIMESTAMP NOT NULL
);

CREATE TABLE oauth_clients (
    id          TEXT PRIMARY KEY,
    tenant      TEXT NOT NULL REFERENCES tenants (id),
    secret_hash TEXT NOT NULL,
    scopes      TEXT NOT NULL,
    created_at  TIMESTAMP NOT NULL
);

CREATE INDEX oauth_clients_by_tenant ON oauth_clients (tenant, created_at);

CREATE TABLE signing_keys (
    kid             TEXT PRIMARY KEY,
    private_key_pem TEXT NOT NULL,
    public_jwk      TEXT NOT NULL,
    created_at      TIMESTAMP NOT NULL,
    retired_at      TIMESTAMP,
    published_until TIMESTAMP
);

-- At most one key signs. Two replicas starting on an empty database both try to insert one: exactly one succeeds.
CREATE UNIQUE INDEX one_signing_key ON signing_keys ((retired_at IS NULL)) WHERE retired_at IS NULL;

CREATE TABLE projects (
    tenant     TEXT NOT NULL REFERENCES tenants (id),
    name       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    definition TEXT NOT NULL,
    version    INTEGER NOT NULL,
    updated_at TIMESTAMP NOT NULL,
    PRIMARY KEY (tenant, name)
);
