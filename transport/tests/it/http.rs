//! What is known of requests to an API, and what nobody may see of them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fleet_engine::host::reach::Secret;
use fleet_engine::resource::Error;
use fleet_transport::http::{Answer, Body, Class, Options, Outcome, Parcel, Reader, Verb, Writer, connect};

const SECRET: &str = "hunter2-and-more";

/// A server on loopback that treats each connection in the same way, and keeps what it was sent.
fn serve(treat: impl Fn(&mut TcpStream) + Send + 'static) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 8192];
            let length = stream.read(&mut request).unwrap();
            heard.lock().unwrap().push(String::from_utf8_lossy(&request[..length]).into_owned());
            treat(&mut stream);
        }
    });
    (url, asked)
}

fn answering(answer: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    serve(move |stream| stream.write_all(answer.as_bytes()).unwrap())
}

fn way(url: &str) -> Result<(Reader, Writer), Error> {
    connect(&Options {
        name: "the API",
        url,
        header: "x-auth-token",
        credential: &Secret(SECRET.into()),
        headers: &[],
        request_id: "x-request-id",
        timeout: Duration::from_millis(400),
    })
}

async fn post(url: &str) -> Outcome {
    let body = serde_json::json!({ "name": "a" });
    way(url).unwrap().1.send("cannot make it", Verb::Post, &["v1", "things"], Some(&body)).await
}

async fn get(url: &str) -> Answer {
    way(url).unwrap().0.get("cannot look", &["v1", "a/b?c"], &[("page", "1&2")]).await.unwrap()
}

#[tokio::test]
async fn a_write_is_answered_or_never_arrived_or_nobody_knows() {
    let (url, asked) = answering("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
    assert!(matches!(post(&url).await, Outcome::Answered(answer) if answer.class() == Class::Done));
    let request = asked.lock().unwrap()[0].to_lowercase();
    assert!(request.starts_with("post /v1/things http/1.1"), "{request}");
    assert!(request.contains(&format!("x-auth-token: {SECRET}")), "{request}");
    assert!(request.ends_with("{\"name\":\"a\"}"), "{request}");

    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refused = post(&format!("http://{unused}")).await;
    assert!(matches!(&refused, Outcome::NotSent(error) if error.transient), "{refused:?}");

    let treatments: [fn(&mut TcpStream); 4] = [
        |_| {},
        // Until the other side has had enough.
        |stream| _ = stream.read(&mut [0]),
        |stream| stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{").unwrap(),
        |stream| stream.write_all(b"no HTTP at all\r\n\r\n").unwrap(),
    ];
    for (at, treat) in treatments.into_iter().enumerate() {
        let (url, asked) = serve(treat);
        let outcome = post(&url).await;
        assert!(matches!(&outcome, Outcome::Unsettled(error) if error.transient), "{at}: {outcome:?}");
        assert_eq!(asked.lock().unwrap().len(), 1, "{at}: it is not sent again");
    }
}

#[tokio::test]
async fn paths_and_queries_stay_what_they_are() {
    let (url, asked) = answering("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    get(&format!("{url}/base/")).await;
    let request = asked.lock().unwrap()[0].clone();
    assert!(request.starts_with("GET /base/v1/a%2Fb%3Fc?page=1%262 HTTP/1.1"), "{request}");
    for odd in ["..", ".", ""] {
        let refused = way(&url).unwrap().0.get("cannot look", &["v1", odd], &[]).await.unwrap_err();
        assert!(!refused.transient, "{refused}");
    }
    assert_eq!(asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_parcel_says_more_than_a_path() {
    let (url, asked) =
        answering("HTTP/1.1 200 OK\r\netag: \"abc\"\r\ncontent-length: 4\r\nconnection: close\r\n\r\n// a");
    let (credential, headers) = (Secret(format!("Bearer {SECRET}")), [("x-version", "7")]);
    let options = Options {
        name: "the API",
        url: &url,
        header: "authorization",
        credential: &credential,
        headers: &headers,
        request_id: "x-request-id",
        timeout: Duration::from_millis(400),
    };
    let (_, writer) = connect(&options).unwrap();
    let parcel = Parcel {
        path: &["acl"],
        query: &[("details", "1")],
        headers: &[("if-match", "\"xyz\"")],
        body: Body::Text("application/hujson", "{} // mine"),
    };
    let Outcome::Answered(answer) = writer.submit("cannot set it", Verb::Post, &parcel).await else {
        panic!("no answer")
    };
    let request = asked.lock().unwrap()[0].to_lowercase();
    assert!(request.starts_with("post /acl?details=1 http/1.1"), "{request}");
    for line in ["x-version: 7", "if-match: \"xyz\"", "content-type: application/hujson"] {
        assert!(request.contains(line), "{line}: {request}");
    }
    assert!(request.ends_with("{} // mine"), "{request}");
    assert_eq!((answer.header("etag").as_deref(), answer.text().unwrap()), (Some("\"abc\""), "// a"));
    assert_eq!(answer.told::<serde_json::Value>(), None, "it does not say that it is JSON");
    // Whoever repeats a token leaves out the word before it.
    assert_eq!(answer.clean(&format!("bad {SECRET}")), "bad (secret)");
    assert!(!format!("{parcel:?}").contains("mine"));
}

#[tokio::test]
async fn answers_say_whether_to_ask_again() {
    let cases = [
        ("200 OK", "", Class::Done),
        ("301 Moved", "location: http://127.0.0.1:1/\r\n", Class::Refused),
        ("404 Not Found", "", Class::Refused),
        ("429 Slow", "retry-after: 7\r\n", Class::Later(Some(Duration::from_secs(7)))),
        ("429 Slow", "retry-after: Tue, 17 Nov 2026 22:00:00 GMT\r\n", Class::Later(None)),
        ("502 Bad", "", Class::Later(None)),
    ];
    for (status, header, expected) in cases {
        let (url, asked) = serve(move |stream| {
            let text = format!("HTTP/1.1 {status}\r\n{header}content-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(text.as_bytes()).unwrap();
        });
        assert_eq!(get(&url).await.class(), expected, "{status}");
        assert_eq!(asked.lock().unwrap().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_credential_goes_to_no_place_where_others_could_read_it() {
    for url in [
        "http://api.example.com",
        "ftp://127.0.0.1",
        "nonsense",
        "mailto:a@b",
        "http://127.0.0.1.example.com",
    ] {
        let refused = way(url).unwrap_err();
        assert!(refused.help.is_some() && !refused.transient, "{url}: {refused}");
    }
    for url in ["https://api.example.com", "http://localhost:1", "http://[::1]:1", "http://127.0.0.9:1"] {
        way(url).unwrap();
    }
}

#[tokio::test]
async fn what_the_other_side_repeats_of_a_secret_is_taken_out() {
    let (url, _) = serve(|stream| {
        let body = format!("\"no {SECRET}, thank you\"");
        let headers = format!("x-request-id: for-{SECRET}\r\nconnection: close");
        let text = format!("HTTP/1.1 400 Bad\r\n{headers}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).unwrap();
    });
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone());
    let guard = tracing::subscriber::set_default(subscriber.finish());
    let answer = get(&url).await;
    assert_eq!(answer.request(), " (request for-(secret))");
    assert_eq!(answer.clean(&answer.json::<String>().unwrap()), "no (secret), thank you");
    let unread = answer.json::<u64>().unwrap_err().to_string();
    let refused =
        way("http://127.0.0.1:1").unwrap().0.get(&format!("no {SECRET}"), &["a", SECRET], &[]).await;
    drop(guard);
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("answered") && log.contains("status=400"), "{log}");
    let all = format!("{answer:?}{unread}{refused:?}{:?}{log}", way(&url).unwrap());
    assert!(!all.contains(SECRET), "{all}");
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
