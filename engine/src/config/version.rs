//! Version requirements such as `>= 0.1, < 2` and `~> 1.2`, as Terraform writes them.

/// Whether a version fits all comparisons of a requirement. The error is the part that could not be read.
pub(super) fn allows<'a>(requirement: &'a str, version: &str) -> Result<bool, &'a str> {
    let version = numbers(version).unwrap_or_default();
    let mut fits = true;
    for part in requirement.split(',') {
        fits &= allows_part(part.trim(), &version).ok_or(part.trim())?;
    }
    Ok(fits)
}

fn allows_part(part: &str, version: &[u64]) -> Option<bool> {
    let (operator, wanted) = match part.find(|c: char| c.is_ascii_digit()) {
        Some(start) => (part[..start].trim(), numbers(&part[start..])?),
        None => return None,
    };
    let (mut ours, mut theirs) = (version.to_vec(), wanted.clone());
    let length = ours.len().max(theirs.len());
    ours.resize(length, 0);
    theirs.resize(length, 0);
    Some(match operator {
        "" | "=" => ours == theirs,
        "!=" => ours != theirs,
        ">" => ours > theirs,
        ">=" => ours >= theirs,
        "<" => ours < theirs,
        "<=" => ours <= theirs,
        // All numbers but the last one written stay as they are; a lone number may grow.
        "~>" => ours >= theirs && ours.starts_with(&wanted[..wanted.len() - 1]),
        _ => return None,
    })
}

/// The numbers of a version: `1.2.3`.
fn numbers(text: &str) -> Option<Vec<u64>> {
    text.trim().split('.').map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::allows;

    #[test]
    fn requirements() {
        for (requirement, version, expected) in [
            (">= 0.1", "0.1.0", Ok(true)),
            (">= 0.2", "0.1.9", Ok(false)),
            ("0.1", "0.1.0", Ok(true)),
            ("= 0.1.1", "0.1.0", Ok(false)),
            ("!= 0.1.1", "0.1.0", Ok(true)),
            (">= 0.1, < 0.3", "0.3.0", Ok(false)),
            (">0.1,<=1", "1.0.0", Ok(true)),
            ("~> 0.1", "0.9.0", Ok(true)),
            ("~> 0.1", "1.0.0", Ok(false)),
            ("~> 0.1.2", "0.1.9", Ok(true)),
            ("~> 0.1.2", "0.1.1", Ok(false)),
            ("~> 0.1.2", "0.2.0", Ok(false)),
            ("~> 2", "3.0.0", Ok(true)),
            ("", "0.1.0", Err("")),
            ("newest", "0.1.0", Err("newest")),
            (">= 1, => 2", "0.1.0", Err("=> 2")),
            ("1.x", "0.1.0", Err("1.x")),
            ("99999999999999999999", "0.1.0", Err("99999999999999999999")),
        ] {
            assert_eq!(allows(requirement, version), expected, "{requirement} for {version}");
        }
    }
}
