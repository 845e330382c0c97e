// Package redact replaces secrets in texts. It finds a secret verbatim, escaped for a URL, quoted
// in JSON or Go, escaped in HTML, and in any mixture of these. It also finds the secret in base 16
// and base 64, in base 64 even as a part of a longer value.
//
//	r := redact.New(redact.Secret{Value: key, Shown: "[secret key]"})
//	text = r.Replace(text)
//
// Redact a text before you shorten it: a part of a secret is not found. A secret in any other
// encoding, such as compressed data, is not found either.
package redact
