//! What the files of an agent say of its registration.

use serde_json::Value;

/// What stands in `.runner`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Registration {
    pub(super) id: Option<i64>,
    pub(super) name: String,
    pub(super) url: String,
    pub(super) work: String,
}

/// What fleet noted when it registered the agent: what the other files do not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) source: Option<String>,
    pub(super) labels: Vec<String>,
    pub(super) agent: Option<i64>,
}

impl Registration {
    /// Reads `.runner`: JSON after the mark that .NET writes before text, its keys in either spelling.
    pub(super) fn read(content: &[u8]) -> Option<Registration> {
        let text = String::from_utf8_lossy(content).into_owned();
        let Ok(Value::Object(all)) = serde_json::from_str(text.trim_start_matches('\u{feff}')) else {
            return None;
        };
        let find =
            |key: &str| all.iter().find(|(known, _)| known.eq_ignore_ascii_case(key)).map(|(_, value)| value);
        let text = |key: &str| find(key).and_then(Value::as_str).map(str::to_owned);
        Some(Registration {
            id: find("agentId").and_then(Value::as_i64),
            name: text("agentName")?,
            url: text("gitHubUrl").unwrap_or_default(),
            work: text("workFolder").unwrap_or_default(),
        })
    }
}

impl Note {
    pub(super) fn read(content: &[u8]) -> Note {
        let text = String::from_utf8_lossy(content).into_owned();
        let value = |key: &str| {
            text.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(' ')?.to_owned()))
        };
        let labels = value("labels").unwrap_or_default();
        Note {
            source: value("source"),
            labels: labels.split(',').filter(|label| !label.is_empty()).map(str::to_owned).collect(),
            agent: value("agent").and_then(|id| id.parse().ok()),
        }
    }
}

/// Whether a version is as new as another, or newer.
pub(super) fn is_as_new(version: &str, wanted: &str) -> bool {
    let numbers =
        |text: &str| text.split('.').map(|part| part.parse::<u64>().unwrap_or_default()).collect::<Vec<_>>();
    numbers(version) >= numbers(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registration_is_read_in_either_spelling() {
        let expected = Registration {
            id: Some(7),
            name: "mini".into(),
            url: "https://github.com/example".into(),
            work: "_work".into(),
        };
        for text in [
            "\u{feff}{\"AgentId\": 7, \"AgentName\": \"mini\", \"GitHubUrl\": \"https://github.com/example\", \"WorkFolder\": \"_work\"}",
            "{\"agentId\": 7, \"agentName\": \"mini\", \"gitHubUrl\": \"https://github.com/example\", \"workFolder\": \"_work\"}",
        ] {
            assert_eq!(Registration::read(text.as_bytes()), Some(expected.clone()), "{text}");
        }
        assert_eq!(Registration::read(b"nonsense"), None);
        assert_eq!(Registration::read(b"{}"), None);
    }

    #[test]
    fn a_note_says_what_the_other_files_do_not() {
        let note = Note::read(b"source aa\nlabels a,b\nagent 7\n");
        assert_eq!(note.source.as_deref(), Some("aa"));
        assert_eq!((note.labels, note.agent), (vec!["a".to_owned(), "b".to_owned()], Some(7)));
        assert_eq!(Note::read(b""), Note::default());
    }

    #[test]
    fn an_agent_that_renewed_itself_is_new_enough() {
        assert!(
            is_as_new("2.336.0", "2.336.0")
                && is_as_new("2.1000.0", "2.336.0")
                && is_as_new("3.0", "2.336.0")
        );
        assert!(!is_as_new("2.335.9", "2.336.0") && !is_as_new("", "2.0"));
    }
}
