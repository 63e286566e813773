DROP TABLE projects;
DROP TABLE signing_keys;
DROP TABLE oauth_clients;
DROP TABLE tenants;
