package reports

import (
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// masked stands where a password was.
const masked = "xxxxx"

// secretParameter is a parameter of an address whose value nobody should read.
var secretParameter = regexp.MustCompile(`(?i)([?&][^=&]*(?:pass|secret|token|key)[^=&]*=)([^&]*)`)

// WithoutPassword returns an address as it may be printed. It reads the address itself,
// since one with a mistake in it is no URL and has a password all the same.
func WithoutPassword(address string) string {
	if start, end := password(address); start < end {
		address = address[:start] + masked + address[end:]
	}
	if strings.Contains(address, "://") {
		address = secretParameter.ReplaceAllString(address, "${1}"+masked)
	}
	return address
}

// password returns where the password of the user stands: from the first colon of the
// authority to the last @ of all, for a password may hold any sign.
func password(address string) (start, end int) {
	_, rest, ok := strings.Cut(address, "://")
	at := strings.LastIndexByte(address, '@')
	colon := strings.IndexByte(rest, ':')
	if !ok || at < 0 || colon < 0 {
		return 0, 0
	}
	return len(address) - len(rest) + colon + 1, at
}

// secrets returns the passwords of an address, as they stand there and as they are.
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

// StoreVariable names the store when there is no --store.
const StoreVariable = "WEFT_STORE"

// shortSecret is the length up to which a password is looked for only where an address
// has it: it may be a part of any word.
const shortSecret = 3

// Public returns a text without the passwords of the store's address.
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
