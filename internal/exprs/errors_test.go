package exprs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftrun/weft/internal/exprs"
)

// In the texts, » marks the place of the error.
func TestCompileValue_ReportsPlaces(t *testing.T) {
	for _, tt := range []struct {
		text    string
		width   int
		msg     string
		suggest string
		hint    string
	}{
		{"${{ »stat.topic }}", 4, "unknown name stat", "state", ""},
		{"${{ state.»sorces }}", 6, "unknown field sorces", "sources", ""},
		{"é ü ${{ 'é' + state.»topik }}", 5, "unknown field topik", "topic", ""},
		{"a\nb ${{ state.topic }}\n  ü ${{ state.»nothing_like_it }}", 15, "unknown field nothing_like_it", "", ""},
		{"${{\n  state.»sorces\n}}", 6, "unknown field sorces", "sources", ""},
		{"${{ state.sources[0].»txt }}", 3, "unknown field txt", "", ""},
		{"${{ state.sources | map(.»titel) }}", 5, "unknown field titel", "title", ""},
		{"${{ state.topic »+ 1 }}", 1, "invalid operation: + (mismatched types string and int)", "", ""},
		{"${{ »uper(state.topic) }}", 4, "unknown name uper", "upper", ""},
		{"${{ state.topic | »uper() }}", 4, "unknown name uper", "upper", ""},
		{"${{ »now() }}", 3, "unknown name now", "", "replay"},
		{"${{ »$env }}", 4, "unknown name $env", "", ""},
		{"${{ »$env['state'] }}", 4, "unknown name $env", "", ""},
		{"${{ result.»foo() }}", 3, "this is a value, not a function", "", "f(value)"},
		{"${{ »result() }}", 6, "this is a value, not a function", "", "f(value)"},
		{"${{ »b'x' }}", 4, "bytes are not supported", "", ""},
		{"»${{ state.topic", 3, "${{ is not closed", "", ""},
		{"»${{ 1 // }}", 3, "${{ is not closed", "", "comment"},
		{"${{ »'abc }}", 1, "string is not closed", "", ""},
		{"${{ »\"abc\n\" }}", 1, "string is not closed", "", ""},
		{"${{ 1 »/* }}", 2, "comment is not closed", "", ""},
		{"${{ 1 »} }}", 1, "unexpected }", "", ""},
		{"${{»}}", 1, "expression is empty", "", ""},
		{"${{ 1 + »} }}", 1, "unexpected }", "", ""},
		{"${{ state.sources | map({url»: .url}) }}", 1, `unexpected token (":")`, "", "double braces"},
		{"${{ state.sources | map({\"url\"»: .url}) }}", 1, `unexpected token (":")`, "", "double braces"},
		{"${{ state.rounds »= 2 }}", 1, `unexpected token ("=")`, "", "=="},
		{"${{ state.done »& true }}", 1, `unexpected token ("&")`, "", "&&"},
		{"${{ 1 2 }}", 1, `unexpected token ("2")`, "", ""},
		{"${{ state.topic matches '(' }}", 7, "error parsing regexp", "", ""},
		{"${{ »map(1, #) }}", 1, "", "", ""},
	} {
		text, want := strings.Replace(tt.text, "»", "", 1), strings.Index(tt.text, "»")
		_, err := exprs.CompileValue(text, weather)
		var es exprs.Errors
		if !errors.As(err, &es) || len(es) != 1 {
			t.Errorf("%q: got %v, want one mistake", tt.text, err)
			continue
		}
		e := es[0]
		if want >= 0 && tt.msg != "" {
			before := text[:want]
			line := strings.Count(before, "\n") + 1
			col := len([]rune(before[strings.LastIndex(before, "\n")+1:])) + 1
			if e.Offset != want || e.Line != line || e.Col != col || e.Width != tt.width {
				t.Errorf("%q: mistake at offset %d, %d:%d, width %d; want %d, %d:%d, %d",
					tt.text, e.Offset, e.Line, e.Col, e.Width, want, line, col, tt.width)
			}
		}
		if !strings.Contains(e.Msg, tt.msg) || e.Suggest != tt.suggest || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%q: got %q, suggest %q, hint %q; want %q, %q, %q", tt.text, e.Msg, e.Suggest, e.Hint, tt.msg, tt.suggest, tt.hint)
		}
	}
}

func TestCompileValue_ReportsAllMistakes(t *testing.T) {
	_, err := exprs.CompileValue("${{ stat }} ${{ state.topic }} ${{ state.topik }}\n${{ 1 +", weather)
	var es exprs.Errors
	if !errors.As(err, &es) {
		t.Fatalf("got %v, want exprs.Errors", err)
	}
	var got []string
	for _, e := range es {
		got = append(got, e.Error())
	}
	want := []string{
		`1:5: unknown name stat; did you mean "state"?`,
		`1:42: unknown field topik; did you mean "topic"?`,
		`2:1: ${{ is not closed`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
	wantKnown := []string{"any", "done", "labels", "names", "rounds", "score", "sources", "topic"}
	if diff := cmp.Diff(wantKnown, es[1].Known); diff != "" {
		t.Errorf("known fields (-want +got):\n%s", diff)
	}
	var first *exprs.Error
	if !errors.As(err, &first) || first != es[0] {
		t.Errorf("errors.As does not find the first mistake")
	}
}

func TestCompileCondition_RejectsTemplateMarks(t *testing.T) {
	_, err := exprs.CompileCondition("  ${{ state.done }}", weather)
	if err == nil || !strings.HasPrefix(err.Error(), "1:3: unexpected ${{ (") {
		t.Errorf("got %v", err)
	}
}

func TestEval_ReportsPlaces(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"x ${{ result.a.b }}", "1:14: cannot fetch a from nil (guard it with ?. or give a default with ??)"},
		{"${{ state.names[9] }}", "1:16: index out of range: 9 (list length is 3)"},
		{"${{ format('%d', 1.5) }}", "1:5: format argument 1: %d wants an integer, not float"},
		{"${{ format('%d') }}", "1:5: format has more verbs than arguments (0)"},
		{"${{ format('x', 1) }}", "1:5: format has 1 arguments for 0 verbs"},
		{"${{ format('%999d', 1) }}", "1:5: format cannot use %999d: width and precision are numbers up to 200"},
		{"${{ format('%*d', 1) }}", "1:5: format does not know %*; it knows d x X f e g s v q t"},
		{"${{ format('5%') }}", "1:5: format ends inside %; write %% for a percent sign"},
		{"${{ format('%t', 1) }}", "1:5: format argument 1: %t wants a bool, not int"},
		{"${{ format('%f', 'a') }}", "1:5: format argument 1: %f wants a number, not string"},
		{"${{ fromJSON('{') }}", "1:5: not JSON: unexpected EOF"},
		{"${{ fromJSON('1 2') }}", "1:5: not JSON: there is text after the value"},
		{"${{ 1 / 0 }}", "1:7: divide by zero"},
		{"${{ 0.0 / 0 > 1 }}", "1:9: divide by zero"},
		{"${{ float('NaN') > 1 }}", `1:5: float cannot read "NaN"`},
		{"${{ 1 % 0 }}", "1:7: integer divide by zero"},
		{"${{ sortBy(state.names, #, result ?? 'up') }}", `1:5: order is up; it may be "asc" or "desc"`},
		{"${{ result | keys() }}", "1:14: keys wants a map, not nil"},
		{"${{ result | join() }}", "1:14: join wants a list, not nil"},
		{"${{ 'a' matches (state.topic + '(') }}", "1:9: error parsing regexp: missing closing ): `zürich(`"},
	} {
		v, err := exprs.CompileValue(tt.text, weather)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		_, err = v.Eval(vars())
		var e *exprs.Error
		if !errors.As(err, &e) || err.Error() != tt.want {
			t.Errorf("%q: got error %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestCompileExpr_RejectsFunctionsAsValues(t *testing.T) {
	for _, text := range []string{"len", "[upper, 1]", "let x = json; 1", "map([1], len)"} {
		if _, err := exprs.CompileExpr(text, weather); err == nil || !strings.Contains(err.Error(), "is a function, not a value") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"len(state.names)", "state.names | map(upper(#))", "format('%d', 1) | upper()", "let x = json(1); x", "let v = 1; v + 1", "map([1], # + 1)"} {
		if _, err := exprs.CompileExpr(text, weather); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestFromBase64_ReturnsText(t *testing.T) {
	for text, want := range map[string]string{"fromBase64('aMOp')": "hé", "fromBase64('/w==')": "not UTF-8", "fromBase64('?')": "not base64"} {
		v, err := exprs.CompileValue("${{ "+text+" }}", weather)
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.Eval(vars())
		if got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s = %v, %v; want %s", text, got, err, want)
		}
	}
}
