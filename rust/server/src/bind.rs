//! Finds a port and listens on it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

use crate::options::PortChoice;
use crate::server::StartError;

/// Connections that may wait to be accepted. The usual 128 overflow when clients start together
/// while the thread is busy, and what overflows waits a whole second.
const BACKLOG: u32 = 1024;

/// Listens on the first port that is free. Must run inside a tokio runtime.
pub(crate) fn bind(address: IpAddr, choice: PortChoice) -> Result<Vec<TcpListener>, StartError> {
    let mut last_busy = None;
    for port in choice.candidates() {
        let wanted = SocketAddr::new(address, port);
        match listen_on_both(wanted, choice) {
            Ok(listeners) => return Ok(listeners),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => last_busy = Some(error),
            Err(source) => return Err(StartError::Bind { address: wanted, source }),
        }
    }
    let mut ports = choice.candidates();
    let first = ports.next().unwrap_or_default();
    let last = ports.last().unwrap_or(first);
    Err(StartError::PortsBusy { first, last, source: last_busy.unwrap_or_else(busy) })
}

/// `127.0.0.1` comes with `::1`, since clients resolve `localhost` to either.
fn listen_on_both(wanted: SocketAddr, choice: PortChoice) -> io::Result<Vec<TcpListener>> {
    let first = listen(wanted)?;
    let port = first.local_addr()?.port();
    let mut listeners = vec![first];
    if wanted.ip() == Ipv4Addr::LOCALHOST {
        match listen(SocketAddr::new(Ipv6Addr::LOCALHOST.into(), port)) {
            Ok(second) => listeners.push(second),
            // Another program there would get the requests to `localhost`, and our token with them.
            Err(error)
                if error.kind() == io::ErrorKind::AddrInUse
                    && matches!(choice, PortChoice::FirstFreeFrom(_)) =>
            {
                return Err(error);
            }
            Err(error) => tracing::debug!(%error, port, "not listening on ::1"),
        }
    }
    Ok(listeners)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // On Unix, so that the port is free again at once after a stop. On Windows the flag would let
    // any other program take the port while we listen.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn busy() -> io::Error {
    io::Error::from(io::ErrorKind::AddrInUse)
}
