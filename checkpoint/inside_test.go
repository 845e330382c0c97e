package checkpoint

import "io"

// What tests outside of the package need of its inside.

// SetRand lets tests choose the nonces.
func (k *Keys) SetRand(r io.Reader) { k.rand = r }

var textSpot = place(Key{Thread: "t"}, "field", 1, 0)

// SealText turns a text into the bytes that a store gets.
func SealText(c Codec, text string) ([]byte, error) {
	data, _, err := c.seal(textSpot, "", text)
	if err != nil || c.Keys == nil {
		return data, err
	}
	enc, err := c.Keys.ring().encrypter("t")
	if err != nil {
		return nil, err
	}
	return enc.encrypt(textSpot, data)
}

// UnsealText undoes SealText, without decoding the text.
func UnsealText(c Codec, data []byte) (err error) {
	if c.Keys != nil {
		if data, err = c.Keys.ring().decrypt(textSpot, data); err != nil {
			return err
		}
	}
	_, err = unseal(textSpot, data)
	return err
}
