//! HTTP/1.1 as a light client speaks it: requests are bytes that were made before, and of an answer no more is
//! looked at than has to be. Client and server share the machine, so what the client costs is taken from both sides.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Result;

const BUFFER_BYTES: usize = 16 << 10;
const HEAD_ENDS: &[u8] = b"\r\n\r\n";
/// How a body in chunks ends; JSON has no such line ends inside.
const CHUNKS_END: &[u8] = b"\r\n0\r\n\r\n";

/// A connection that is kept.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// An answer, in the connection's buffer.
pub struct Reply<'a> {
    pub status: u16,
    head: &'a [u8],
    pub body: &'a [u8],
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(BUFFER_BYTES) })
    }

    /// Asks, and reads the answer. One that does not say how long it is comes in chunks, framing and all.
    pub async fn ask(&mut self, request: &[u8]) -> Result<Reply<'_>> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let mut head = None;
        let (head, end) = loop {
            self.receive().await?;
            head = head.or_else(|| find(&self.buffer, HEAD_ENDS));
            if let Some(head) = head {
                let end = match length(&self.buffer[..head])? {
                    Some(length) => head + HEAD_ENDS.len() + length,
                    None if self.buffer.ends_with(CHUNKS_END) => self.buffer.len(),
                    None => continue,
                };
                if self.buffer.len() >= end {
                    break (head, end);
                }
            }
        };
        let (head, body) = (&self.buffer[..head], &self.buffer[head + HEAD_ENDS.len()..end]);
        Ok(Reply { status: status(head)?, head, body })
    }

    /// Asks for something that has no length, and hands its bytes to `take`, framing and all, until it says that
    /// this was the end.
    pub async fn stream(
        &mut self,
        request: &[u8],
        mut take: impl FnMut(&[u8]) -> bool,
    ) -> Result<()> {
        self.stream.write_all(request).await?;
        loop {
            self.buffer.clear();
            self.receive().await?;
            if take(&self.buffer) {
                return Ok(());
            }
        }
    }

    async fn receive(&mut self) -> Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err("the server has hung up".into()),
            _ => Ok(()),
        }
    }
}

impl Reply<'_> {
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        header(self.head, name)
    }

    /// Refuses any other status.
    pub fn demand(self, status: u16) -> Result<Self> {
        match self.status == status {
            true => Ok(self),
            false => {
                let body = String::from_utf8_lossy(self.body);
                Err(format!("the answer is {}, not {status}: {body}", self.status).into())
            }
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// `HTTP/1.1 200 OK`.
fn status(head: &[u8]) -> Result<u16> {
    let digits = head.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
    Ok(digits.ok_or("the answer has no status")?.parse()?)
}

/// None of a body in chunks.
fn length(head: &[u8]) -> Result<Option<usize>> {
    if let Some(length) = header(head, "content-length") {
        return Ok(Some(std::str::from_utf8(length)?.parse()?));
    }
    match header(head, "transfer-encoding") {
        Some(b"chunked") => Ok(None),
        _ => Err("the answer has no length".into()),
    }
}

fn header<'h>(head: &'h [u8], name: &str) -> Option<&'h [u8]> {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    let mut lines = lines.filter_map(|line| line.split_at_checked(name.len()));
    let named = |found: &[u8], rest: &[u8]| {
        rest.first() == Some(&b':') && found.eq_ignore_ascii_case(name.as_bytes())
    };
    let (_, rest) = lines.find(|(found, rest)| named(found, rest))?;
    Some(rest[1..].trim_ascii())
}
