//! Server-sent events: the data of each, as it arrives.

#[derive(Default)]
pub(super) struct Events {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
}

impl Events {
    /// Takes in a part of the stream and returns the data of the events that it completes. Events
    /// without data, such as those that only keep the connection alive, are left out.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Vec<Vec<u8>> {
        let mut complete = Vec::new();
        let mut rest = chunk;
        while !rest.is_empty() {
            if std::mem::take(&mut self.after_return) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = rest.iter().position(|it| matches!(it, b'\n' | b'\r')) else {
                self.line.extend_from_slice(rest);
                break;
            };
            self.line.extend_from_slice(&rest[..end]);
            self.after_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            complete.extend(self.end_line());
        }
        complete
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data).then_some(data).filter(|it| !it.is_empty());
        }
        let value = match line.strip_prefix(b"data") {
            Some([]) => &[][..],
            Some([b':', b' ', value @ ..] | [b':', value @ ..]) => value,
            _ => return None,
        };
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        self.has_data = true;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(stream: &str, step: usize) -> Vec<String> {
        let mut events = Events::default();
        let parts = stream.as_bytes().chunks(step);
        let data = parts.flat_map(|it| events.push(it)).collect::<Vec<_>>();
        data.into_iter().map(|it| String::from_utf8(it).unwrap()).collect()
    }

    #[test]
    fn data_arrives_however_it_is_cut() {
        let stream = ": alive\n\nid: 1\ndata: \n\nevent: message\ndata: {\"a\":1}\n\ndata:x\r\ndata: y\r\n\r\ndata: z\r\rdata: left";
        for step in 1..stream.len() {
            assert_eq!(events(stream, step), ["{\"a\":1}", "x\ny", "z"], "{step}");
        }
    }
}
