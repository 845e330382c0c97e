package exprs

import (
	"fmt"
	"strconv"
	"strings"
)

// maxWidth is the limit of the width and precision of a verb.
const maxWidth = 200

// format implements format(text, args...), which replaces verbs as fmt.Sprintf does. Wrong verbs,
// wrong types and a wrong number of arguments are errors; the result never contains "%!d(...)".
func format(m *meter, args []any) (any, error) {
	text, args := args[0].(string), args[1:]
	var b strings.Builder
	used := 0
	for text != "" {
		plain, rest, found := strings.Cut(text, "%")
		b.WriteString(plain)
		if !found {
			break
		}
		spec, verb, tail, err := cutVerb(rest)
		if err != nil {
			return nil, err
		}
		text = tail
		if verb == '%' {
			b.WriteByte('%')
			continue
		}
		if used == len(args) {
			return nil, fmt.Errorf("format has more verbs than arguments (%d)", len(args))
		}
		s, err := formatOne(m, spec, verb, args[used])
		if err != nil {
			return nil, fmt.Errorf("format argument %d: %w", used+1, err)
		}
		used++
		if b.Len()+len(s) > MaxText {
			return nil, errText
		}
		b.WriteString(s)
	}
	if used < len(args) {
		return nil, fmt.Errorf("format has %d arguments for %d verbs", len(args), used)
	}
	return b.String(), m.text(b.Len())
}

// cutVerb splits the text after a % into spec (flags, width and precision), the verb, and the rest.
func cutVerb(s string) (spec string, verb byte, rest string, err error) {
	end := strings.IndexFunc(s, func(r rune) bool { return !strings.ContainsRune("+-# 0123456789.", r) })
	if end < 0 {
		return "", 0, "", fmt.Errorf("format ends inside %%%s; write %%%% for a percent sign", s)
	}
	spec, verb, rest = s[:end], s[end], s[end+1:]
	if verb == '%' && spec == "" {
		return spec, verb, rest, nil
	}
	if !strings.ContainsRune("dxXfegsvqt", rune(verb)) {
		return "", 0, "", fmt.Errorf("format does not know %%%s%c; it knows d x X f e g s v q t", spec, []rune(s[end:])[0])
	}
	width, precision, _ := strings.Cut(strings.TrimLeft(spec, "+-# 0"), ".")
	for _, digits := range []string{width, precision} {
		if n, err := strconv.Atoi("0" + digits); err != nil || n > maxWidth {
			return "", 0, "", fmt.Errorf("format cannot use %%%s%c: width and precision are numbers up to %d", spec, verb, maxWidth)
		}
	}
	return spec, verb, rest, nil
}

func formatOne(m *meter, spec string, verb byte, v any) (string, error) {
	verbText := "%" + spec + string(verb)
	switch verb {
	case 'd', 'x', 'X':
		i, ok := asInt(v)
		if !ok {
			return "", fmt.Errorf("%s wants an integer, not %s", verbText, kindName(v))
		}
		return fmt.Sprintf(verbText, i), nil
	case 'f', 'e', 'g':
		f, ok := asFloat(v)
		if !ok {
			return "", fmt.Errorf("%s wants a number, not %s", verbText, kindName(v))
		}
		return fmt.Sprintf(verbText, f), finite(f)
	case 't':
		b, ok := v.(bool)
		if !ok {
			return "", fmt.Errorf("%s wants a bool, not %s", verbText, kindName(v))
		}
		return fmt.Sprintf(verbText, b), nil
	}
	s, err := m.toText(v)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%"+spec+string(textVerb(verb)), s), nil
}

// textVerb returns s for v, because the value has been converted to text.
func textVerb(verb byte) byte {
	if verb == 'v' {
		return 's'
	}
	return verb
}
