//! Cancellation, progress and panics, in both eras.

use std::io::Write;
use std::sync::atomic::Ordering;

use futures_util::FutureExt;
use rmcp::model::CallToolRequestParams;
use serde_json::json;

use crate::support::http::{connect, initialize, legacy, modern, modern_request, request};
use crate::support::mcp::{Client, ERAS, Era, Heard};
use crate::support::start;

#[tokio::test]
async fn a_dropped_call_cancels_the_host() {
    for era in ERAS {
        for tool in ["wait", "stubborn"] {
            let (server, host) = start();
            let client = Client::connect(server.url(), era).await;
            let mut call = Box::pin(client.service.call_tool(CallToolRequestParams::new(tool)));
            tokio::select! {
                answer = &mut call => panic!("{era:?}: {answer:?}"),
                _ = host.started(tool) => {}
            }
            drop(call);
            host.cancelled(tool).await;
            // The session, or the server, goes on.
            assert!(client.call("echo", json!({})).await.is_ok(), "{era:?}");
        }
    }
}

#[tokio::test]
async fn a_closed_connection_cancels_a_modern_call_and_not_a_legacy_one() {
    let (server, host) = start();
    let (headers, body) = modern_request("tools/call", json!({"name": "wait", "arguments": {}}));
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut stream = connect(server.port());
    stream.write_all(&request("POST", "/mcp", &headers, &body)).unwrap();
    host.started("wait").await;
    drop(stream);
    host.cancelled("wait").await;

    let (session, _) = initialize(server.port(), "2025-11-25");
    let call =
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "wait"}});
    let mut stream = connect(server.port());
    let headers = [("Mcp-Session-Id", &*session)];
    stream.write_all(&request("POST", "/mcp", &headers, call.to_string().as_bytes())).unwrap();
    host.started("wait").await;
    drop(stream);
    let mut cancelled = Box::pin(host.cancelled("wait"));
    assert!((&mut cancelled).now_or_never().is_none());
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 5}});
    assert_eq!(legacy(server.port(), &session, &cancel).status, 202);
    cancelled.await;
}

#[tokio::test]
async fn progress_arrives_in_order_and_before_the_answer() {
    for era in ERAS {
        let (server, _host) = start();
        let mut client = Client::connect(server.url(), era).await;
        let result = client.call("progress", json!({"bytes": 5})).await.unwrap();
        assert_eq!(result.structured_content, Some(json!({"steps": 5})), "{era:?}");
        for step in 1..=5 {
            let expected = Heard::Progress(f64::from(step), Some(format!("step {step}")));
            assert_eq!(client.hear().await, expected, "{era:?}");
        }
        // A flood does not flood the client: some at once, and where it ended.
        client.call("progress", json!({"bytes": 10_000})).await.unwrap();
        let mut heard = vec![client.hear().await];
        while heard.last() != Some(&Heard::Progress(10_000.0, Some("step 10000".to_owned()))) {
            heard.push(client.hear().await);
        }
        assert!(heard.len() <= 20, "{era:?}: {heard:?}");
    }
}

#[test]
fn progress_precedes_the_answer_on_the_wire() {
    let (server, _host) = start();
    let params =
        json!({"name": "progress", "arguments": {"bytes": 2}, "_meta": {"progressToken": "t"}});
    let stream = modern(server.port(), "tools/call", params);
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    let text = stream.text();
    let events: Vec<_> = text.lines().filter_map(|it| it.strip_prefix("data: ")).collect();
    assert_eq!(events.len(), 3, "{text}");
    assert!(events[0].contains(r#""progress":1"#) && events[0].contains(r#""progressToken":"t""#));
    assert!(events[1].contains(r#""progress":2"#));
    assert!(events[2].contains(r#""result""#));
}

#[tokio::test]
async fn a_panic_is_an_internal_error_and_the_server_goes_on() {
    for era in ERAS {
        let (server, host) = start();
        let client = Client::connect(server.url(), era).await;
        let result = client.call("panic", json!({})).await.unwrap();
        let error = result.structured_content.unwrap();
        assert_eq!(error["error"], "INTERNAL", "{era:?}");
        assert!(error["message"].as_str().unwrap().contains("`panic`"));

        host.panics.store(true, Ordering::Relaxed);
        assert!(client.service.list_all_tools().await.is_err(), "{era:?}");
        host.panics.store(false, Ordering::Relaxed);
        assert!(client.service.list_all_tools().await.is_ok(), "{era:?}");
    }
}

#[tokio::test]
async fn calls_of_one_client_run_side_by_side() {
    for era in ERAS {
        let (server, host) = start();
        let client = Client::connect(server.url(), era).await;
        let mut waiting = Box::pin(client.service.call_tool(CallToolRequestParams::new("wait")));
        tokio::select! {
            answer = &mut waiting => panic!("{era:?}: {answer:?}"),
            _ = host.started("wait") => {}
        }
        for _ in 0..20 {
            tokio::select! {
                answer = &mut waiting => panic!("{era:?}: {answer:?}"),
                echo = client.call("echo", json!({})) => assert!(echo.is_ok()),
            }
        }
    }
}

#[tokio::test]
async fn the_host_hears_of_clients_that_come_and_go() {
    let (server, host) = start();
    let client = Client::connect(server.url(), Era::Legacy).await;
    let here = crate::support::host::Event::Clients(vec!["tester 7".to_owned()]);
    host.event(|it| *it == here).await;
    client.service.cancel().await.unwrap();
    let gone = crate::support::host::Event::Clients(vec![]);
    host.event(|it| *it == gone).await;
    assert!(server.clients().is_empty());
}
