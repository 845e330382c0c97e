package checkpoint

import "io"

// What tests outside of the package need of its inside.

// SetRand lets tests choose the nonces.
func (k *Keys) SetRand(r io.Reader) { k.rand = r }

var textSpot = place(Key{Thread: "t"}, "field", 1, 0)

// Texts seals and unseals texts, as a chain and its store do together.
type Texts struct {
	codec Codec
	ring  *keyring
}

func NewTexts(c Codec) *Texts {
	t := &Texts{codec: c}
	if c.Keys != nil {
		t.ring = c.Keys.ring()
	}
	return t
}

// Seal turns a text into the bytes that a store gets.
func (t *Texts) Seal(text string) ([]byte, error) {
	data, _, err := t.codec.seal(textSpot, "", text)
	if err != nil || t.ring == nil {
		return data, err
	}
	enc, err := t.ring.encrypter("t")
	if err != nil {
		return nil, err
	}
	return enc.encrypt(textSpot, data)
}

// Unseal undoes Seal, without decoding the text.
func (t *Texts) Unseal(data []byte) (_ []byte, err error) {
	if t.ring != nil {
		if data, err = t.ring.decrypt(textSpot, data); err != nil {
			return nil, err
		}
	}
	return unseal(textSpot, data)
}
