//! The function of `zarrfs_pcodec.h`, on the crate `pco`.

use std::ffi::{c_char, c_int, c_void};
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::Once;

use half::f16;
use pco::data_types::Number;
use pco::standalone::{DecompressorItem, FileDecompressor};

type Outcome = Result<(), String>;

/// The longest window of a lookback that the library writes, log 2; the format has up to 32.
const MAX_WINDOW_LOG: u64 = 15;

/// Bits `at` to `at + count - 1`, least significant first; `None` behind the end.
fn bits(bytes: &[u8], at: usize, count: usize) -> Option<u64> {
    (0..count).try_fold(0, |value, i| {
        let byte = bytes.get((at + i) / 8)?;
        Some(value | u64::from(byte >> ((at + i) % 8) & 1) << i)
    })
}

/// Refuses what the library would allocate because the metadata of a chunk claim it, whatever is there.
/// `None` if they end early, which the library finds.
fn check_claims(chunk: &[u8], number_bits: usize, has_lookback: bool) -> Option<Outcome> {
    let mode = bits(chunk, 32, 4)?; // behind the type and the count
    let mut at = 36;
    match mode {
        1 | 2 => at += number_bits,
        3 => at += 8,
        4 => {
            let length = bits(chunk, at, 25)? as usize;
            at = 64 + length * number_bits;
            if at / 8 > chunk.len() {
                return Some(Err(format!("a dictionary of {length} numbers in {} bytes", chunk.len())));
            }
        }
        _ => {}
    }
    if has_lookback && bits(chunk, at, 4)? == 2 {
        let window_log = 1 + bits(chunk, at + 4, 5)?;
        if window_log > MAX_WINDOW_LOG {
            return Some(Err(format!("a window of 2^{window_log} numbers, expected 2^{MAX_WINDOW_LOG} at most")));
        }
    }
    Some(Ok(()))
}

fn decode<T: Number>(encoded: &[u8], numbers: &mut [T]) -> Outcome {
    let (file, mut rest) = FileDecompressor::new(encoded).map_err(|error| error.message)?;
    let has_lookback = file.format_version().major >= 3;
    let mut filled = 0;
    loop {
        check_claims(rest, 8 * size_of::<T>(), has_lookback).unwrap_or(Ok(()))?;
        match file.chunk_decompressor::<T, _>(rest).map_err(|error| error.message)? {
            DecompressorItem::EndOfData(_) if filled == numbers.len() => return Ok(()),
            DecompressorItem::EndOfData(_) => return Err(format!("{filled} numbers, expected {}", numbers.len())),
            DecompressorItem::Chunk(mut chunk) => {
                let end = filled + chunk.n();
                let Some(to) = numbers.get_mut(filled..end) else {
                    return Err(format!("{end} numbers or more, expected {}", numbers.len()));
                };
                chunk.read(to).map_err(|error| error.message)?;
                filled = end;
                rest = chunk.into_src();
            }
        }
    }
}

/// # Safety
/// `numbers` are `count` of `T`.
unsafe fn decode_into<T: Number>(encoded: &[u8], numbers: *mut c_void, count: usize) -> Outcome {
    match count {
        0 => decode::<T>(encoded, &mut []), // then there may be no pointer
        _ => decode(encoded, std::slice::from_raw_parts_mut(numbers.cast::<T>(), count)),
    }
}

/// # Safety
/// As the header says.
#[no_mangle]
pub unsafe extern "C" fn zarrfs_pcodec_decode(
    encoded: *const u8,
    encoded_size: usize,
    number_type: u8,
    numbers: *mut c_void,
    count: usize,
    message: *mut c_char,
    message_size: usize,
) -> c_int {
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| set_hook(Box::new(|_| {}))); // else a panic writes to standard error
    let encoded = if encoded_size == 0 { &[] } else { std::slice::from_raw_parts(encoded, encoded_size) };
    let decode = match number_type {
        1 => decode_into::<u32>,
        2 => decode_into::<u64>,
        3 => decode_into::<i32>,
        4 => decode_into::<i64>,
        5 => decode_into::<f32>,
        6 => decode_into::<f64>,
        7 => decode_into::<u16>,
        8 => decode_into::<i16>,
        9 => decode_into::<f16>,
        10 => decode_into::<u8>,
        11 => decode_into::<i8>,
        _ => |_: &[u8], _, _| Err("a type that pcodec does not have".to_string()),
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| decode(encoded, numbers, count)))
        .unwrap_or_else(|_| Err("the library gave up".to_string()));
    let Err(text) = outcome else { return 0 };
    if message_size > 0 {
        let length = text.len().min(message_size - 1);
        std::ptr::copy_nonoverlapping(text.as_ptr(), message.cast(), length);
        *message.add(length) = 0;
    }
    1
}
