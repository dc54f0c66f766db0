//! A proxy between an engine and the cluster that loses what it is told to lose.
//!
//! The driver asks every node at the port of its contact point, so a proxy with one port on each node's address
//! gets all connections. It knows as much of CQL's frames (version 4) as it needs to tell which statement a request
//! executes: it reads the texts when they are prepared.

use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

const HEADER: usize = 9;
const RESULT: u8 = 0x08;
const PREPARE: u8 = 0x09;
const EXECUTE: u8 = 0x0A;
const BATCH: u8 = 0x0D;
const RESULT_PREPARED: [u8; 4] = [0, 0, 0, 4];

/// What executes one prepared statement, or several.
#[derive(Clone)]
pub struct Request {
    /// The statement; of a batch, the first.
    pub text: String,
    pub batch: bool,
    body: Vec<u8>,
}

impl Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Request {
    /// Whether it is a lightweight transaction.
    pub fn is_conditional(&self) -> bool {
        self.text.contains(" IF ")
    }

    /// Whether these bytes are in a key or value of it.
    pub fn mentions(&self, bytes: &[u8]) -> bool {
        self.body.windows(bytes.len()).any(|found| found == bytes)
    }

    /// Whether it is the transaction by which a commit takes or doesn't.
    pub fn decides(&self) -> bool {
        self.batch && self.text.contains("SET latest")
    }
}

/// What happens when an answer comes.
pub type Then = Box<dyn FnOnce() + Send>;

/// What becomes of a request.
pub enum Fate {
    Pass,
    /// It arrives when this says so, behind others of its connection.
    Late(Receiver<()>),
    /// It is done, and nobody gets the answer.
    Swallow,
    /// It never arrives, and its connection is closed.
    Refuse,
    /// It is done, and this happens when the answer comes. The connection is closed then.
    Lose(Then),
}

impl Fate {
    /// It doesn't arrive, which nobody is told.
    pub fn never() -> Self {
        Self::Late(mpsc::channel().1)
    }

    /// Done, but the answer is lost.
    pub fn lose() -> Self {
        Self::Lose(Box::new(|| {}))
    }
}

/// Decides on each request, in the order they come.
pub type Judge = Box<dyn FnMut(&Request) -> Fate + Send>;

/// A proxy to all nodes, until it is dropped.
pub struct Proxy {
    nodes: Vec<String>,
    shared: Arc<Shared>,
    listening: Vec<JoinHandle<()>>,
}

struct Shared {
    judge: Mutex<Judge>,
    /// Texts of statements by their ids, which are the same on every node.
    texts: Mutex<HashMap<Vec<u8>, String>>,
    links: Mutex<Vec<TcpStream>>,
    closed: AtomicBool,
}

impl Proxy {
    /// Lets everything pass until [`Self::judge`] says otherwise.
    pub fn start(cluster: &[String]) -> Self {
        let port = free_port(cluster);
        Self::start_at(cluster, port)
    }

    /// As [`Self::start`], at a port that [`free_port`] has found.
    pub fn start_at(cluster: &[String], port: u16) -> Self {
        let shared = Arc::new(Shared {
            judge: Mutex::new(Box::new(|_| Fate::Pass)),
            texts: Mutex::default(),
            links: Mutex::default(),
            closed: AtomicBool::new(false),
        });
        let nodes = at_port(cluster, port);
        let listen = |(node, proxied): (&String, &String)| {
            let listener = TcpListener::bind(proxied).unwrap();
            let (node, shared) = (node.clone(), shared.clone());
            thread::spawn(move || accept(&listener, &node, &shared))
        };
        let listening = cluster.iter().zip(&nodes).map(listen).collect();
        Self { nodes, shared, listening }
    }

    /// Where to connect instead.
    pub fn nodes(&self) -> Vec<String> {
        self.nodes.clone()
    }

    /// Has every request from now on judged.
    pub fn judge(&self, judge: impl FnMut(&Request) -> Fate + Send + 'static) {
        *self.shared.judge.lock().unwrap() = Box::new(judge);
    }

    pub fn let_pass(&self) {
        self.judge(|_| Fate::Pass);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.closed.store(true, SeqCst);
        // Wakes who waits for connections, and waits for the port to be free again.
        for (node, listening) in self.nodes.iter().zip(self.listening.drain(..)) {
            let _ = TcpStream::connect(node);
            let _ = listening.join();
        }
        for link in self.shared.links.lock().unwrap().drain(..) {
            let _ = link.shutdown(Shutdown::Both);
        }
    }
}

/// The same nodes at another port.
pub fn at_port(cluster: &[String], port: u16) -> Vec<String> {
    let host = |node: &String| node.rsplit_once(':').unwrap().0.to_owned();
    cluster.iter().map(|node| format!("{}:{port}", host(node))).collect()
}

/// A port that is free on all nodes' addresses.
pub fn free_port(cluster: &[String]) -> u16 {
    loop {
        let first = TcpListener::bind(&at_port(cluster, 0)[0]).unwrap();
        let port = first.local_addr().unwrap().port();
        if at_port(cluster, port)[1..].iter().all(|node| TcpListener::bind(node).is_ok()) {
            return port;
        }
    }
}

fn accept(listener: &TcpListener, node: &str, shared: &Arc<Shared>) {
    while let Ok((client, _)) = listener.accept() {
        if shared.closed.load(SeqCst) {
            return;
        }
        // A node that is away is away through the proxy, too.
        if let Ok(server) = TcpStream::connect(node) {
            Connection::begin(client, server, shared.clone());
        }
    }
}

/// One connection, both ways.
struct Connection {
    client: TcpStream,
    server: TcpStream,
    shared: Arc<Shared>,
    /// By stream ids: statements that are being prepared.
    preparing: Mutex<HashMap<[u8; 2], String>>,
    /// And requests whose answers are to be lost, with what happens then, or swallowed.
    losing: Mutex<HashMap<[u8; 2], Option<Then>>>,
    /// Held while a frame is sent on.
    sending: Mutex<()>,
}

struct Frame {
    bytes: Vec<u8>,
}

impl Frame {
    fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut bytes = vec![0; HEADER];
        from.read_exact(&mut bytes)?;
        let length = u32::from_be_bytes(bytes[5..HEADER].try_into().unwrap());
        bytes.resize(HEADER + length as usize, 0);
        from.read_exact(&mut bytes[HEADER..])?;
        Ok(Self { bytes })
    }

    fn stream(&self) -> [u8; 2] {
        [self.bytes[2], self.bytes[3]]
    }

    fn opcode(&self) -> u8 {
        self.bytes[4]
    }

    fn body(&self) -> &[u8] {
        &self.bytes[HEADER..]
    }
}

impl Connection {
    fn begin(client: TcpStream, server: TcpStream, shared: Arc<Shared>) {
        for half in [&client, &server] {
            half.set_nodelay(true).unwrap();
            shared.links.lock().unwrap().push(half.try_clone().unwrap());
        }
        let connection = Arc::new(Self {
            client,
            server,
            shared,
            preparing: Mutex::default(),
            losing: Mutex::default(),
            sending: Mutex::default(),
        });
        let back = connection.clone();
        thread::spawn(move || {
            let _ = connection.requests();
            connection.close();
        });
        thread::spawn(move || {
            let _ = back.answers();
            back.close();
        });
    }

    fn close(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
        let _ = self.server.shutdown(Shutdown::Both);
    }

    /// Until the first that must not arrive.
    fn requests(self: &Arc<Self>) -> io::Result<()> {
        loop {
            let frame = Frame::read(&mut &self.client)?;
            if frame.opcode() == PREPARE {
                let text = String::from_utf8_lossy(&frame.body()[4..]).into_owned();
                self.preparing.lock().unwrap().insert(frame.stream(), text);
            } else if let Some(request) = self.request(&frame) {
                let fate = (self.shared.judge.lock().unwrap())(&request);
                match fate {
                    Fate::Pass => {}
                    Fate::Refuse => return Ok(()),
                    Fate::Late(time) => {
                        let later = self.clone();
                        thread::spawn(move || time.recv().map(|()| later.send(&frame)));
                        continue;
                    }
                    Fate::Swallow => {
                        self.losing.lock().unwrap().insert(frame.stream(), None);
                    }
                    Fate::Lose(then) => {
                        self.losing.lock().unwrap().insert(frame.stream(), Some(then));
                    }
                }
            }
            self.send(&frame)?;
        }
    }

    fn send(&self, frame: &Frame) -> io::Result<()> {
        let _sending = self.sending.lock().unwrap();
        (&self.server).write_all(&frame.bytes)
    }

    /// Until the first that must not be given.
    fn answers(&self) -> io::Result<()> {
        loop {
            let frame = Frame::read(&mut &self.server)?;
            if let Some(text) = self.preparing.lock().unwrap().remove(&frame.stream())
                && frame.opcode() == RESULT
                && frame.body().starts_with(&RESULT_PREPARED)
            {
                let id = short_bytes(&frame.body()[4..]).to_vec();
                self.shared.texts.lock().unwrap().insert(id, text);
            }
            let lost = self.losing.lock().unwrap().remove(&frame.stream());
            match lost {
                None => {}
                Some(None) => continue,
                Some(Some(then)) => {
                    then();
                    return Ok(());
                }
            }
            (&self.client).write_all(&frame.bytes)?;
        }
    }

    fn request(&self, frame: &Frame) -> Option<Request> {
        let id = match frame.opcode() {
            EXECUTE => short_bytes(frame.body()),
            // Type, number of statements, and that the first is a prepared one.
            BATCH => short_bytes(&frame.body()[4..]),
            _ => return None,
        };
        let text = self.shared.texts.lock().unwrap().get(id).cloned().unwrap_or_default();
        Some(Request { text, batch: frame.opcode() == BATCH, body: frame.body().to_vec() })
    }
}

fn short_bytes(bytes: &[u8]) -> &[u8] {
    let length = u16::from_be_bytes([bytes[0], bytes[1]]);
    &bytes[2..2 + length as usize]
}
