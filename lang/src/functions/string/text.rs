//! Cutting, padding and case.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

use super::{case, check_length};
use crate::Value;
use crate::functions::{CallError, args};

type Result = std::result::Result<Value, CallError>;

pub(super) fn chomp(args: &[Value]) -> Result {
    Ok(args::string(args, 0).trim_end_matches(['\n', '\r']).into())
}

pub(super) fn endswith(args: &[Value]) -> Result {
    Ok(args::string(args, 0).ends_with(args::string(args, 1)).into())
}

pub(super) fn startswith(args: &[Value]) -> Result {
    Ok(args::string(args, 0).starts_with(args::string(args, 1)).into())
}

pub(super) fn strcontains(args: &[Value]) -> Result {
    Ok(args::string(args, 0).contains(args::string(args, 1)).into())
}

pub(super) fn indent(args: &[Value]) -> Result {
    let (spaces, text) = (args::count(args, 0)?, args::string(args, 1));
    check_length(text.matches('\n').count().saturating_mul(spaces))?;
    if !text.contains('\n') {
        return Ok(args[1].clone());
    }
    Ok(text.replace('\n', &format!("\n{}", " ".repeat(spaces))).as_str().into())
}

pub(super) fn lower(args: &[Value]) -> Result {
    Ok(args::string(args, 0).chars().map(case::lower).collect::<String>().as_str().into())
}

pub(super) fn upper(args: &[Value]) -> Result {
    Ok(args::string(args, 0).chars().map(case::upper).collect::<String>().as_str().into())
}

pub(super) fn title(args: &[Value]) -> Result {
    Ok(case::title_words(args::string(args, 0)).as_str().into())
}

pub(super) fn strrev(args: &[Value]) -> Result {
    Ok(args::string(args, 0).graphemes(true).rev().collect::<String>().as_str().into())
}

pub(super) fn substr(args: &[Value]) -> Result {
    let (text, offset, length) = (args::string(args, 0), args::whole(args, 1)?, args::whole(args, 2)?);
    let start = match usize::try_from(offset) {
        Ok(start) => start,
        Err(_) => {
            let count = text.graphemes(true).count();
            count.saturating_sub(usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX))
        }
    };
    // No length at all is the whole rest if the offset counts from the end. Terraform has it so, and so do its users.
    let is_rest = length < 0 || (length == 0 && offset < 0);
    let length = usize::try_from(length).ok().filter(|_| !is_rest).unwrap_or(usize::MAX);
    Ok(text.graphemes(true).skip(start).take(length).collect::<String>().as_str().into())
}

pub(super) fn trim(args: &[Value]) -> Result {
    let characters: HashSet<char> = args::string(args, 1).chars().collect();
    Ok(args::string(args, 0).trim_matches(|c| characters.contains(&c)).into())
}

pub(super) fn trimprefix(args: &[Value]) -> Result {
    let text = args::string(args, 0);
    Ok(text.strip_prefix(args::string(args, 1)).unwrap_or(text).into())
}

pub(super) fn trimsuffix(args: &[Value]) -> Result {
    let text = args::string(args, 0);
    Ok(text.strip_suffix(args::string(args, 1)).unwrap_or(text).into())
}

pub(super) fn trimspace(args: &[Value]) -> Result {
    Ok(args::string(args, 0).trim().into())
}
