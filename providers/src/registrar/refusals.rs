//! For tests: what a service may answer instead, and what is made of it.

use fleet_lab::desk::How;

/// What goes wrong, whether it is worth another try, and after how many seconds.
pub(crate) const REFUSALS: [(How, bool, Option<u64>); 13] = [
    (How::Refuse(400), false, None),
    (How::Refuse(401), false, None),
    (How::Refuse(403), false, None),
    (How::Refuse(404), false, None),
    (How::Refuse(405), false, None),
    (How::Refuse(409), false, None),
    (How::Refuse(422), false, None),
    (How::RefuseFor(429, 7), true, Some(7)),
    (How::Refuse(500), true, None),
    (How::Between(502), true, None),
    (How::Between(418), false, None),
    (How::CutBefore, true, None),
    (How::CutAfter, true, None),
];
