package checkpoint

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// A value is compressed when it has compressFrom bytes and loses a tenth of them. One that
// would become more than expandAtMost times larger again is stored as it is: so a few
// stored bytes never become many when they are read, whoever wrote them.
const (
	compressFrom = 4 << 10
	expandAtMost = 256
	maxRaw       = 1 << 30
)

// Both are made, with the channels in them, before anybody calls: what is first used inside
// of a testing/synctest bubble would belong to it, and could not be used outside. At most so
// many values are compressed, or decompressed, at once; it costs about a megabyte.
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
	w.EncodeAll(nil, nil) // makes the channels
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

// compress returns a smaller form of raw, if there is one.
func compress(raw []byte) (small []byte, ok bool) {
	small = zstdWriter.EncodeAll(raw, make([]byte, 0, len(raw)/2))
	return small, len(small) <= len(raw)/10*9 && len(raw) <= expandAtMost*len(small)
}

// decompress returns the raw bytes of which small is a form. It takes no more memory than
// expandAtMost times the size of small.
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
