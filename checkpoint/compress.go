package checkpoint

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// A value of at least compressFrom bytes is compressed if that saves a tenth of them. A value that
// would expand more than expandAtMost times is stored uncompressed. So a few stored bytes cannot
// expand to many when they are read, even if an attacker wrote them.
const (
	compressFrom = 4 << 10
	expandAtMost = 256
	maxRaw       = 1 << 30
)

// compressAtOnce is how many values are compressed, or decompressed, at the same time. It costs
// about a megabyte.
//
// The encoder and the decoder are created with their channels when the package is initialized. A
// channel that is created in a testing/synctest bubble cannot be used outside of it.
const compressAtOnce = 4

var (
	zstdWriter = newWriter()
	zstdReader = newReader()
)

func newWriter() *zstd.Encoder {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20), zstd.WithEncoderConcurrency(compressAtOnce))
	if err != nil {
		panic(err) // the options are wrong
	}
	w.EncodeAll(nil, nil) // creates the channels
	return w
}

func newReader() *zstd.Decoder {
	r, err := zstd.NewReader(nil, zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxWindow(8<<20),
		zstd.WithDecoderMaxMemory(maxRaw), zstd.WithDecoderConcurrency(compressAtOnce))
	if err != nil {
		panic(err)
	}
	return r
}

// compress compresses raw. ok is false if raw should be stored uncompressed.
func compress(raw []byte) (small []byte, ok bool) {
	small = zstdWriter.EncodeAll(raw, make([]byte, 0, len(raw)/2))
	return small, len(small) <= len(raw)/10*9 && len(raw) <= expandAtMost*len(small)
}

// decompress returns the raw bytes of small. It uses at most expandAtMost times the size of small.
func decompress(small []byte, raw uint64) ([]byte, error) {
	if raw > maxRaw || raw > expandAtMost*uint64(len(small)) {
		return nil, fmt.Errorf("%w: %d bytes cannot be %d", ErrCorrupt, len(small), raw)
	}
	data, err := zstdReader.DecodeAll(small, make([]byte, 0, raw))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if uint64(len(data)) != raw {
		return nil, fmt.Errorf("%w: it has %d bytes, not %d", ErrCorrupt, len(data), raw)
	}
	return data, nil
}
