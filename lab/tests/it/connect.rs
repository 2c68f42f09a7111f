//! The Connect server of 1Password over real HTTP.

use fleet_lab::connect::{TOKEN, Token};
use fleet_lab::{Lab, Options};
use serde_json::{Value, json};

#[tokio::test]
async fn vaults_and_items_are_shown_to_those_who_may_read_them() {
    let lab = Lab::start(Options { macs: 0, ..Options::default() }).unwrap();
    let connect = &lab.vendors().connect;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let get = async |token: &str, path: &str| {
        let url = format!("{}/v1/vaults{path}", connect.desk.url());
        let answer = client.get(url).bearer_auth(token).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let (ours, other) = (connect.books.add_vault("ci"), connect.books.add_vault("other"));
    let field = json!({ "id": "f", "label": "token", "value": "x" });
    let item = connect.books.add_item(&ours, &json!({ "title": "a \"b\"", "fields": [field] }));
    let file = connect.books.add_file(&item, "key.pem", "text\n");
    connect.books.add_token(Token { secret: "small".into(), vaults: Some(vec![ours.clone()]) });
    let count = |body: &str| serde_json::from_str::<Vec<Value>>(body).unwrap().len();
    assert_eq!(count(&get(TOKEN, "").await.1), 2);
    assert_eq!(count(&get("small", "").await.1), 1);
    assert_eq!(count(&get(TOKEN, "?filter=name%20eq%20%22other%22").await.1), 1);
    let titled = get(TOKEN, &format!("/{ours}/items?filter=title+eq+%22a+%5C%22b%5C%22%22")).await.1;
    assert!(count(&titled) == 1 && !titled.contains("fields"), "{titled}");
    let whole: Value = serde_json::from_str(&get("small", &format!("/{ours}/items/{item}")).await.1).unwrap();
    assert_eq!((&whole["fields"][0]["value"], &whole["files"][0]["id"]), (&json!("x"), &json!(file)));
    let content = format!("/{ours}/items/{item}/files/{file}/content");
    assert_eq!(get(TOKEN, &content).await, (200, "text\n".to_owned()));
    let cases = [
        ("wrong", String::new(), 401),
        ("small", format!("/{other}/items"), 403),
        (TOKEN, "/nowhere".to_owned(), 404),
        (TOKEN, format!("/{ours}/items/nothing"), 404),
        (TOKEN, format!("/{ours}/items/{item}/files/none/content"), 404),
        (TOKEN, format!("/{ours}/items?filter=title+eq+a"), 400),
    ];
    for (token, path, status) in cases {
        let (answered, body) = get(token, &path).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((answered, &body["status"]), (status, &json!(status)), "{path}");
    }
}
