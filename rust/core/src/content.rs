//! What answers can hold beside JSON: pictures, sounds, documents.

/// Text, or bytes that are sent as base64.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Text(String),
    Bytes(Vec<u8>),
}

/// Content of a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub mime_type: String,
    pub body: Body,
}

impl Document {
    pub fn text(mime_type: impl Into<String>, text: impl Into<String>) -> Self {
        Self { mime_type: mime_type.into(), body: Body::Text(text.into()) }
    }

    pub fn bytes(mime_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { mime_type: mime_type.into(), body: Body::Bytes(bytes.into()) }
    }
}

/// One part of an answer or of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Text(String),
    Image { mime_type: String, bytes: Vec<u8> },
    Audio { mime_type: String, bytes: Vec<u8> },
    Document { uri: String, document: Document },
}

impl Content {
    /// What counts against the size limit of an answer.
    pub fn size(&self) -> usize {
        let base64 = |bytes: usize| bytes.div_ceil(3) * 4;
        match self {
            Self::Text(text) => text.len(),
            Self::Image { bytes, .. } | Self::Audio { bytes, .. } => base64(bytes.len()),
            Self::Document { uri, document } => {
                uri.len()
                    + match &document.body {
                        Body::Text(text) => text.len(),
                        Body::Bytes(bytes) => base64(bytes.len()),
                    }
            }
        }
    }
}
