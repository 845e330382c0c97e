package picture

import (
	"fmt"
	"strings"
)

// token is a colour of the picture. As a property of CSS it is named --weft-NAME.
type token struct{ name, light, dark string }

// tokens are all colours. A test holds their contrast, and that people who do not see red and
// green apart can distinguish the states.
var tokens = []token{
	{"ground", "#ffffff", "#14171c"},
	{"ink", "#1a2029", "#e8ebf0"},
	{"muted", "#525c69", "#a9b3c0"},
	{"line", "#6b7684", "#8b96a5"},
	{"box", "#f4f6f8", "#20252d"},
	{"frame", "#fafbfc", "#191d23"},
	{"queued", "#5d5890", "#b0abe6"}, {"queued-fill", "#eeedf8", "#28263f"},
	{"running", "#0a62ba", "#62adff"}, {"running-fill", "#e3effc", "#13294a"},
	{"done", "#138a63", "#57dba9"}, {"done-fill", "#e2f4ec", "#12342a"},
	{"asking", "#a06a00", "#e6b84a"}, {"asking-fill", "#fff2cc", "#3a2d0d"},
	{"retrying", "#a8430a", "#f2914b"}, {"retrying-fill", "#fdebdf", "#402410"},
	{"failed", "#b01030", "#ff4d79"}, {"failed-fill", "#fde6ef", "#46152b"},
	{"cached", "#0e6d87", "#52c7df"}, {"cached-fill", "#e0f3f8", "#103038"},
	{"skipped", "#6b7684", "#8b96a5"}, {"skipped-fill", "#f4f6f8", "#1b1f26"},
}

// colour returns the token of a state. Waiting has that of Queued: its sign and its words differ.
func (s State) colour() string {
	if s == Waiting {
		return string(Queued)
	}
	return string(s)
}

// CSS returns the style sheet of pictures. A page that sets a token such as --weft-ground for an
// element around the picture overrides its default.
func CSS() string {
	var b strings.Builder
	light, dark := "", ""
	value := map[string]string{}
	for _, t := range tokens {
		light += fmt.Sprintf("--weft-%s:%s;", t.name, t.light)
		dark += fmt.Sprintf("--weft-%s:%s;", t.name, t.dark)
		value[t.name] = t.light
	}
	fmt.Fprintf(&b, ":root{color-scheme:light dark;%s}\n", light)
	fmt.Fprintf(&b, "@media(prefers-color-scheme:dark){:root:not([data-theme=light]){%s}}\n", dark)
	fmt.Fprintf(&b, ":root[data-theme=dark]{%s}\n", dark)
	// Each colour comes twice: programs that do not know var() use the first.
	set := func(selector string, pairs ...string) {
		b.WriteString(selector + "{")
		for i := 0; i < len(pairs); i += 2 {
			fmt.Fprintf(&b, "%s:%s;%[1]s:var(--weft-%[3]s);", pairs[i], value[pairs[i+1]], pairs[i+1])
		}
		b.WriteString("}\n")
	}
	set(".weft-picture .ground", "fill", "ground")
	set(".weft-picture text", "fill", "ink")
	set(".weft-picture .shape,.weft-picture .behind", "fill", "box", "stroke", "line")
	set(".weft-picture .inner", "stroke", "line")
	set(".weft-picture .open>.shape", "fill", "frame")
	set(".weft-picture .sub,.weft-picture .state-skipped .name", "fill", "muted")
	set(".weft-picture .line", "stroke", "line")
	set(".weft-picture .head,.weft-picture .bar", "fill", "line")
	set(".weft-picture .taken .line", "stroke", "ink")
	set(".weft-picture .taken .head,.weft-picture .taken .bar", "fill", "ink")
	set(".weft-picture .label", "fill", "ink")
	set(".weft-picture .back", "fill", "ground")
	set(".weft-picture .back.inside", "fill", "frame")
	set(".weft-glyph", "stroke", "ground")
	set(".weft-picture .pause", "stroke", "asking")
	set(".weft-picture .ring", "stroke", "running", "fill", "running-fill")
	set(".weft-timeline .grid,.weft-timeline .time-wait", "stroke", "line")
	set(".weft-timeline .time-took", "fill", "line")
	set(".weft-gantt .grid", "stroke", "line")
	set(".weft-gantt .time-pause", "fill", "box")
	set(".weft-gantt .heat", "fill", "done")
	set(".weft-gantt .heat-waiting", "fill", "queued")
	set(".weft-gantt .time-sum", "fill", "muted")
	set(".weft-areas .grid", "stroke", "line")
	for i, name := range []string{"running", "done", "asking", "retrying", "cached", "queued"} {
		set(fmt.Sprintf(".weft-areas .area-%d", i), "fill", name, "stroke", "ground")
	}
	set(".weft-timeline .time-step,.weft-timeline .time-sum", "fill", "muted")
	for _, s := range states[1:] {
		name, colour := string(s), s.colour()
		set(".weft-picture .state-"+name+">.shape,.weft-picture .state-"+name+">.behind", "stroke", colour, "fill", colour+"-fill")
		set(".weft-picture .state-"+name+">.inner", "stroke", colour)
		set(".weft-picture .state-"+name+">.icon", "fill", colour)
		set(".weft-picture .open.state-"+name+">.shape", "fill", "frame")
	}
	b.WriteString(fixedCSS)
	return b.String()
}

// fixedCSS has what does not depend on colours.
const fixedCSS = `.weft-picture{max-width:100%;height:auto;font-family:ui-sans-serif,system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
.weft-picture text{unicode-bidi:isolate}
.weft-picture .name{font-size:13px;text-anchor:middle}
.weft-picture .sub{font-size:10px;text-anchor:middle}
.weft-picture .two>.name{transform:translateY(-6px)}
.weft-picture .open>.name,.weft-picture .open>.sub{text-anchor:start}
.weft-picture .open>.name{font-weight:600;transform:none}
.weft-picture .shape,.weft-picture .behind{stroke-width:1.4}
.weft-picture .inner{fill:none;stroke-width:1.2}
.weft-picture .ring{stroke-width:2}
.weft-picture .deferred>.shape{stroke-dasharray:5 3}
.weft-picture .line{fill:none;stroke-width:1.4}
.weft-picture .choice>.line{stroke-dasharray:6 4}
.weft-picture .handler>.line{stroke-dasharray:1.5 4;stroke-linecap:round}
.weft-picture .taken>.line{stroke-width:2.2}
.weft-picture .label{font-size:10px;text-anchor:middle}
.weft-glyph{fill:none;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}
.weft-picture .pause{stroke-width:3}
.weft-picture .state-running>.shape{stroke-width:2.4;stroke-dasharray:8 4}
.weft-picture .state-asking>.shape,.weft-picture .state-failed>.shape{stroke-width:2.4}
.weft-picture .node:focus{outline:none}
.weft-picture .node:focus-visible>.shape{stroke-width:4}
.weft-timeline text{font-size:10px;text-anchor:middle}
.weft-timeline .time-node{font-size:12px;text-anchor:end}
.weft-timeline .time-sum{text-anchor:end}
.weft-gantt .time-node{font-size:12px;text-anchor:end}
.weft-gantt .time-sum{font-size:10px;text-anchor:end}
.weft-gantt .grid{fill:none;stroke-width:.5}
.weft-gantt .state-failed>.shape,.weft-gantt .state-asking>.shape{stroke-width:1.4}
.weft-gantt .state-retrying>.shape{stroke-dasharray:2 2}
.weft-gantt .state-waiting>.shape{stroke-dasharray:1 3}
.weft-gantt .state-running>.shape{stroke-width:1.4;animation:none}
.weft-areas .area-name{font-size:11px}
.weft-areas .time-sum{font-size:10px;text-anchor:end}
.weft-timeline .grid{fill:none;stroke-width:.5}
.weft-timeline .time-wait{fill:none;stroke-width:2;stroke-dasharray:2 3}
@media(prefers-reduced-motion:no-preference){.weft-picture .state-running>.shape{animation:weft-run 1s linear infinite}}
@keyframes weft-run{to{stroke-dashoffset:-12}}
`
