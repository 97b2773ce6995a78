//! Questions that a call puts to its client, in both eras, and what a call logs.

#![expect(deprecated, reason = "logging is deprecated and still asked for")]

use rmcp::model::{ElicitResult, ElicitationAction, LoggingLevel, SetLevelRequestParams};
use serde_json::{Value, json};

use crate::support::http::modern;
use crate::support::mcp::{Client, ERAS, Heard};
use crate::support::start;

fn text(result: &rmcp::model::CallToolResult) -> &str {
    &result.content[0].as_text().unwrap().text
}

#[tokio::test]
async fn a_human_is_asked_in_both_eras() {
    let (server, _host) = start();
    for era in ERAS {
        let blue =
            ElicitResult::new(ElicitationAction::Accept).with_content(json!({"color": "blue"}));
        for (answer, outcome) in [
            (blue, "painted \"blue\""),
            (ElicitResult::new(ElicitationAction::Decline), "Declined"),
            (ElicitResult::new(ElicitationAction::Cancel), "Cancelled"),
        ] {
            let client = Client::connect_with(server.url(), era, Some(answer)).await;
            let result = client.call("ask", json!({})).await.unwrap();
            assert_eq!(text(&result), outcome, "{era:?}");
        }
    }
}

/// Without forms, a session gets a tool error that says so, and a request of 2026-07-28 the error that
/// names the capability.
#[tokio::test]
async fn a_client_without_forms_is_told() {
    let (server, _host) = start();
    let legacy = Client::connect(server.url(), ERAS[0]).await;
    let result = legacy.call("ask", json!({})).await.unwrap();
    assert_eq!(result.structured_content.unwrap()["error"], "UNSUPPORTED");
    let answer = modern(server.port(), "tools/call", json!({"name": "ask", "arguments": {}}));
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["data"]["requiredCapabilities"], json!({"elicitation": {}}));
}

/// State goes to the client and back sealed: nobody can change it, or use it for another call.
#[test]
fn state_is_sealed() {
    let (server, _host) = start();
    let ask = |params: Value| {
        let mut all = json!({
            "name": "ask", "arguments": {},
            "_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}},
        });
        all.as_object_mut().unwrap().extend(params.as_object().unwrap().clone());
        modern(server.port(), "tools/call", all).json()
    };
    let first = ask(json!({}));
    assert_eq!(first["result"]["resultType"], "input_required");
    let state = first["result"]["requestState"].as_str().unwrap();
    assert!(!state.contains("asked"), "{state}");
    let answers = json!({"color": {"action": "accept", "content": {"color": "red"}}});
    let again = |state: &str, arguments: Value| {
        ask(json!({"inputResponses": answers, "requestState": state, "arguments": arguments}))
    };
    let done = again(state, json!({}));
    assert_eq!(done["result"]["content"][0]["text"], "painted \"red\"");
    for (state, arguments) in [
        (format!("{state}x"), json!({})),
        ("rubbish".to_owned(), json!({})),
        (state.to_owned(), json!({"bytes": 1})),
    ] {
        let refused = again(&state, arguments);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
}

/// Nothing is logged to whom did not ask, and what is less severe than asked for is left out.
#[test]
fn logs_go_to_clients_that_ask() {
    let (server, _host) = start();
    let call = |meta: Value| {
        let params = json!({"name": "log", "arguments": {}, "_meta": meta});
        modern(server.port(), "tools/call", params).text()
    };
    assert!(!call(json!({})).contains("notifications/message"));
    let logged = call(json!({"io.modelcontextprotocol/logLevel": "warning"}));
    assert!(logged.contains("an error") && !logged.contains("an info"), "{logged}");
    let refused = modern(server.port(), "logging/setLevel", json!({"level": "info"}));
    assert_eq!(refused.status, 404, "a method of sessions");
}

#[tokio::test]
async fn logs_go_to_sessions_that_ask() {
    let (server, _host) = start();
    let mut client = Client::connect(server.url(), ERAS[0]).await;
    client.call("log", json!({})).await.unwrap();
    assert_eq!(client.try_hear(), None, "nobody asked");
    for (level, heard) in
        [(LoggingLevel::Notice, &["an error"][..]), (LoggingLevel::Debug, &["an info", "an error"])]
    {
        client.service.set_level(SetLevelRequestParams::new(level)).await.unwrap();
        client.call("log", json!({})).await.unwrap();
        for message in heard {
            assert_eq!(client.hear().await, Heard::Logged(json!(message)));
        }
    }
}
