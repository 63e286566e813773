//! G.711 companding.
