//! Functions over blocks of IP addresses.

mod cidr;

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use self::cidr::{Block, Family};
use super::args::{number, string, whole};
use super::{Body, CallError, Function, Group, Param, ParamType, Returns};
use crate::{Type, Value};

pub(super) const TABLE: &[Function] = &[
    Function {
        name: "cidrhost",
        group: Group::IpNetwork,
        doc: "Counts out an address of a block. Numbers start at 0 with the address of the block itself; negative \
              ones count from its end, -1 being the last address.",
        examples: &[
            ("cidrhost(\"10.12.112.0/20\", 268)", "\"10.12.113.12\""),
            ("cidrhost(\"fd00:fd12:3456:7890::/72\", 34)", "\"fd00:fd12:3456:7890::22\""),
            ("cidrhost(\"10.0.0.0/8\", -1)", "\"10.255.255.255\""),
        ],
        params: &[PREFIX, Param::new("hostnum", ParamType::Number)],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(cidrhost),
    },
    Function {
        name: "cidrnetmask",
        group: Group::IpNetwork,
        doc: "Writes the length of an IPv4 block as a mask.",
        examples: &[("cidrnetmask(\"172.16.0.0/12\")", "\"255.240.0.0\"")],
        params: &[PREFIX],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(cidrnetmask),
    },
    Function {
        name: "cidrsubnet",
        group: Group::IpNetwork,
        doc: "Counts out a smaller block of a block: one that is `newbits` bits longer and has `netnum` in these bits.",
        examples: &[
            ("cidrsubnet(\"172.16.0.0/12\", 4, 2)", "\"172.18.0.0/16\""),
            ("cidrsubnet(\"fd00:fd12:3456:7890::/56\", 16, 162)", "\"fd00:fd12:3456:7800:a200::/72\""),
        ],
        params: &[PREFIX, Param::new("newbits", ParamType::Number), Param::new("netnum", ParamType::Number)],
        variadic: None,
        returns: Returns::Always(ParamType::String),
        body: Body::Pure(cidrsubnet),
    },
    Function {
        name: "cidrsubnets",
        group: Group::IpNetwork,
        doc: "Cuts blocks off a block one after the other, each so many bits longer than the whole. Where a larger \
              block follows smaller ones, addresses are left out before it.",
        examples: &[(
            "cidrsubnets(\"10.1.0.0/16\", 4, 8, 4)",
            "tolist([\n  \"10.1.0.0/20\",\n  \"10.1.16.0/24\",\n  \"10.1.32.0/20\",\n])",
        )],
        params: &[PREFIX],
        variadic: Some(Param::new("newbits", ParamType::Number)),
        returns: Returns::Always(ParamType::List(&ParamType::String)),
        body: Body::Pure(cidrsubnets),
    },
];

const PREFIX: Param = Param::new("prefix", ParamType::String);

/// As many bits as `cidrsubnets` adds at most.
const NEW_BITS_LIMIT: u32 = 32;

fn cidrhost(args: &[Value]) -> Result<Value, CallError> {
    let block = block(args)?;
    let asked = big(args, 1)?;
    let counted =
        if asked < BigInt::ZERO { BigInt::from(block.last_host()) + 1 + &asked } else { asked.clone() };
    let host = counted.to_u128().and_then(|number| block.host(number));
    let host = host.ok_or_else(|| CallError::arg(1, format!("{block} has no address number {asked}")))?;
    Ok(host.as_str().into())
}

fn cidrnetmask(args: &[Value]) -> Result<Value, CallError> {
    let block = block(args)?;
    match block.family() {
        Family::V4 => Ok(block.mask().as_str().into()),
        Family::V6 => Err(CallError::arg(0, format!("{block} is of IPv6, where masks are not written out"))),
    }
}

fn cidrsubnet(args: &[Value]) -> Result<Value, CallError> {
    let block = block(args)?;
    let bits = new_bits(args, 1, block)?;
    let asked = big(args, 2)?;
    let subnet = asked.to_u128().and_then(|number| block.subnet(bits, number)).ok_or_else(|| {
        let count = BigInt::from(1) << bits;
        CallError::arg(
            2,
            format!("{block} has {count} blocks that are {bits} bits longer, but no number {asked}"),
        )
    })?;
    Ok(subnet.to_string().as_str().into())
}

fn cidrsubnets(args: &[Value]) -> Result<Value, CallError> {
    let block = block(args)?;
    let mut last = None;
    let mut subnets = Vec::new();
    for index in 1..args.len() {
        let bits = new_bits(args, index, block)?;
        if !(1..=NEW_BITS_LIMIT).contains(&bits) {
            let message = format!("must be between 1 and {NEW_BITS_LIMIT}, but is {bits}");
            return Err(CallError::arg(index, message));
        }
        let length = block.length() + bits;
        let next = block.next(last, length).ok_or_else(|| {
            CallError::arg(index, format!("{block} has no room left for a block of {length} bits"))
        })?;
        last = Some(next);
        subnets.push(next.to_string().as_str().into());
    }
    Ok(Value::list(Type::String, subnets))
}

fn block(args: &[Value]) -> Result<Block, CallError> {
    let text = string(args, 0);
    Block::parse(text).ok_or_else(|| {
        CallError::arg(0, format!("{text:?} is not a block of addresses such as 10.0.0.0/8 or fd00::/64"))
    })
}

/// A number of bits to add to the length of a block.
fn new_bits(args: &[Value], index: usize, block: Block) -> Result<u32, CallError> {
    let bits = whole(args, index)?;
    if bits < 0 {
        return Err(CallError::arg(index, format!("must not be negative, but is {bits}")));
    }
    let (width, length) = (block.family().width(), block.length());
    u32::try_from(bits).ok().filter(|bits| *bits <= width - length).ok_or_else(|| {
        CallError::arg(
            index,
            format!("{block} cannot get {bits} bits longer, for addresses have {width} bits"),
        )
    })
}

/// A whole number of any size.
fn big(args: &[Value], index: usize) -> Result<BigInt, CallError> {
    let number = number(args, index);
    let whole = number.is_whole().then(|| number.to_bigint()).flatten();
    whole.ok_or_else(|| CallError::arg(index, format!("must be a whole number, but is {number}")))
}
