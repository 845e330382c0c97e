package wire

import (
	"fmt"
	"strings"
)

// Dialect is a family of clients. It decides two details: the body of an error, and the values at a
// pause in classic streams.
type Dialect string

const (
	Python     Dialect = "py" // the default
	JavaScript Dialect = "js"
)

// ParseDialect reads the name of a dialect.
func ParseDialect(s string) (Dialect, error) {
	switch d := Dialect(s); d {
	case Python, JavaScript:
		return d, nil
	}
	return Python, fmt.Errorf("wire: a dialect must be py or js (got %.20q)", s)
}

// DialectOf returns the dialect of a request by its headers User-Agent and Accept. Programs and
// browsers that run JavaScript have that dialect, unless they ask for application/json.
func DialectOf(userAgent, accept string) Dialect {
	if strings.Contains(strings.ToLower(accept), "application/json") {
		return Python
	}
	for _, name := range []string{"node", "undici", "Bun", "Deno", "Mozilla/"} {
		if strings.HasPrefix(userAgent, name) {
			return JavaScript
		}
	}
	return Python
}
