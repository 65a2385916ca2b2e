#!/bin/bash -eu
# Builds the fuzz targets as OSS-Fuzz does: with $CC, $CXX, $CFLAGS, $CXXFLAGS and $LIB_FUZZING_ENGINE; each target with its corpus
# and the dictionary go to $OUT. In $SRC: zfp and c-blosc, if they are to be built from there rather than from Debian's sources.
# Debian's packages that tools/setup --build installs must be here. To try it:
#
#   CC=clang CXX=clang++ CFLAGS="-O1 -g1 -fsanitize=address,fuzzer-no-link" CXXFLAGS=$CFLAGS LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
#     OUT=/tmp/out tests/fuzz/build.sh
cd "$(dirname "$0")/../.."
work=${WORK:-$OUT/work}
mkdir -p "$OUT" "$work"
CC=$CC CFLAGS=$CFLAGS SRC=${SRC:-} tests/fuzz/libraries "$work/libraries"
# The flags say which sanitizers; "fuzzer-no-link" is what makes the targets be built.
cmake -S . -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
  -DCMAKE_CXX_FLAGS="$CXXFLAGS" -DCMAKE_UNITY_BUILD=ON -DZARRFS_TESTS=OFF -DZARRFS_BENCH=OFF -DZARRFS_SANITIZE=fuzzer-no-link \
  -DZARRFS_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" -DZARRFS_FUZZ_LIBRARIES="$(realpath "$work/libraries")"
cmake --build "$work/build" --target fuzzers
for source in tests/fuzz/*.cc; do
  target=$(basename "$source" .cc)
  cp "$work/build/bin/fuzz_$target" "$OUT/"
  (cd "tests/fuzz/corpus/$target" && zip -q -r - .) >"$OUT/fuzz_${target}_seed_corpus.zip"
  cp tests/fuzz/zarr.dict "$OUT/fuzz_$target.dict"
done
