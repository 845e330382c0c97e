// Package redact replaces secrets in texts, in whatever encoding they stand there: as they are,
// escaped for an address, quoted in JSON or Go, escaped in HTML, any mixture of these, and in
// base 16 and 64, there also as a part of something longer.
//
//	r := redact.New(redact.Secret{Value: key, Shown: "[secret key]"})
//	text = r.Replace(text)
//
// A text that is to be shortened is redacted first: half a secret is not found. What it cannot
// find is a secret that was changed otherwise, such as one that is compressed or cut in two.
package redact
