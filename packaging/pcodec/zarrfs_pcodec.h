/* The decoder of pcodec (https://github.com/pcodec/pcodec), a library in Rust, as a function of C:
 * pcodec.rs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What zarrfs_pcodec_decode() allocates at most, in bytes, beside as many as there are encoded
 * ones. */
#define ZARRFS_PCODEC_MEMORY ((size_t)8 << 20)

/* Decodes a file in pcodec's standalone format, which must hold exactly `count` numbers of the type
   with pcodec's number `type` (1 u32, 2 u64, 3 i32, 4 i64, 5 f32, 6 f64, 7 u16, 8 i16, 9 f16, 10
   u8, 11 i8), into `numbers`, which must be aligned to them. Bytes behind the file's end are
   ignored. Returns 0, or something else if the file is damaged or the type unknown; then `message`
   says why, cut to `message_size` - 1 bytes and a zero. A failed allocation ends the process. */
int zarrfs_pcodec_decode(const uint8_t* encoded, size_t encoded_size, uint8_t type, void* numbers,
                         size_t count, char* message, size_t message_size);

#ifdef __cplusplus
}
#endif
