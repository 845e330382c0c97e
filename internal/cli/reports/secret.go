package reports

import (
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// masked replaces a password.
const masked = "xxxxx"

// secretParameter matches a parameter of an address whose value is secret.
var secretParameter = regexp.MustCompile(`(?i)([?&][^=&]*(?:pass|secret|token|key)[^=&]*=)([^&]*)`)

// WithoutPassword returns an address with its passwords masked. It does not parse the address as a
// URL, since an invalid URL can have a password too.
func WithoutPassword(address string) string {
	if start, end := password(address); start < end {
		address = address[:start] + masked + address[end:]
	}
	if strings.Contains(address, "://") {
		address = secretParameter.ReplaceAllString(address, "${1}"+masked)
	}
	return address
}

// password returns the position of the user's password: from the first colon of the authority to
// the last @ of the address, since a password may contain any character.
func password(address string) (start, end int) {
	_, rest, ok := strings.Cut(address, "://")
	at := strings.LastIndexByte(address, '@')
	colon := strings.IndexByte(rest, ':')
	if !ok || at < 0 || colon < 0 {
		return 0, 0
	}
	return len(address) - len(rest) + colon + 1, at
}

// secrets returns the passwords of an address, encoded and decoded.
func secrets(address string) (all []string) {
	add := func(secret string) {
		plain, err := url.QueryUnescape(secret)
		if secret = strings.TrimSpace(secret); secret != "" {
			all = append(all, secret)
		}
		if err == nil && plain != "" && plain != secret {
			all = append(all, plain)
		}
		if path, err := url.PathUnescape(secret); err == nil && path != secret && path != plain {
			all = append(all, path)
		}
	}
	if start, end := password(address); start < end {
		add(address[start:end])
	}
	if strings.Contains(address, "://") {
		for _, m := range secretParameter.FindAllStringSubmatch(address, -1) {
			add(m[2])
		}
	}
	return all
}

// StoreVariable is the environment variable with the default of --store.
const StoreVariable = "WEFT_STORE"

// shortSecret is the length up to which Public masks a password only between ":" and "@", since a
// short password may be part of any word.
const shortSecret = 3

// Public returns a text with the passwords of the store's address masked.
func (o *Output) Public(text string) string {
	address := o.Store
	if address == "" {
		address = os.Getenv(StoreVariable)
	}
	text = strings.ReplaceAll(text, address, WithoutPassword(address))
	for _, s := range secrets(address) {
		if len(s) <= shortSecret {
			text = strings.ReplaceAll(text, ":"+s+"@", ":"+masked+"@")
			continue
		}
		text = strings.ReplaceAll(text, s, masked)
		if quoted := strings.Trim(strconv.Quote(s), `"`); quoted != s {
			text = strings.ReplaceAll(text, quoted, masked)
		}
	}
	return text
}
