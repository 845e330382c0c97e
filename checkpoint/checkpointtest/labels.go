package checkpointtest

import (
	"fmt"
	"strings"

	"github.com/weftrun/weft/checkpoint"
)

type labels = map[string]string

func labelled(c checkpoint.Commit, l labels) checkpoint.Commit {
	c.Labels = l
	return c
}

func labelsComeBack(p *probe) {
	k := key("thread")
	want := labelled(step(k, 1), labels{"source": "step", "empty": ""})
	p.commit(want)
	p.same("a commit is loaded with its labels", p.load(k, 0), stored(want, 1))
	p.same("history has labels", p.history(k, checkpoint.Query{})[0], listed(want, 1))
	p.same("a list of threads has labels", p.threads(checkpoint.ThreadQuery{})[0], listed(want, 1))
	p.commit(step(k, 2))
	p.same("labels belong to their commit", p.load(k, 0), stored(step(k, 2), 2))
	p.same("labels stay with their commit", p.load(k, 1), stored(want, 2))
	p.commit(labelled(step(k, 3), labels{}))
	p.same("no labels are no labels", p.load(k, 0), stored(step(k, 3), 3))
}

func labelsInHistory(p *probe) {
	k := key("thread")
	const n = 200
	for seq := uint64(1); seq <= n; seq++ {
		p.commit(labelled(step(k, seq), labels{"source": []string{"input", "step"}[seq%2], "step": fmt.Sprint(seq / 10), "user": "ann"}))
	}
	p.commitSteps(key("thread", "sub"), 3)
	for _, c := range []struct {
		rule string
		q    checkpoint.Query
		want []uint64
	}{
		{"an empty Where leaves all", checkpoint.Query{Where: labels{}, Limit: 2}, down(n, n-1)},
		{"Where leaves what has the label", checkpoint.Query{Where: labels{"step": "3", "source": "step"}}, []uint64{39, 37, 35, 33, 31}},
		{"Where is about the whole value", checkpoint.Query{Where: labels{"step": "0"}}, down(9, 1)},
		{"several labels must all be there", checkpoint.Query{Where: labels{"step": "3", "source": "input", "user": "ann"}}, []uint64{38, 36, 34, 32, 30}},
		{"several labels of which one is wrong find nothing", checkpoint.Query{Where: labels{"step": "3", "source": "fork"}}, nil},
		{"a label that no commit has finds nothing", checkpoint.Query{Where: labels{"unknown": "value"}}, nil},
		{"a label that no commit has is not an empty one", checkpoint.Query{Where: labels{"unknown": ""}}, nil},
		{"Limit counts what was found", checkpoint.Query{Where: labels{"source": "input"}, Limit: 3}, []uint64{200, 198, 196}},
		{"Limit may be more than one page", checkpoint.Query{Where: labels{"user": "ann"}, Limit: 150}, down(n, n-149)},
		{"Before and Where go together", checkpoint.Query{Where: labels{"source": "step"}, Before: 5}, []uint64{3, 1}},
		{"Before, Where and Limit go together", checkpoint.Query{Where: labels{"source": "step"}, Before: 100, Limit: 2}, []uint64{99, 97}},
	} {
		p.same(c.rule, seqs(p.history(k, c.q)), c.want)
	}
	p.put(k, n, entry("t", "s", "work"))
	found := p.history(k, checkpoint.Query{Where: labels{"source": "input"}, Limit: 1})[0]
	p.same("a head that is found has its entries", showAll(found.Pending), showAll([]checkpoint.Entry{entry("t", "s", "work")}))
	p.same("a commit that is found is as it was made", show(p.history(k, checkpoint.Query{Where: labels{"step": "1"}, Limit: 1})[0].Header), show(step(k, 19).Header))
}

func labelsInThreads(p *probe) {
	var keys []checkpoint.Key
	for n := range 150 {
		k := key(fmt.Sprintf("thread %03d", n))
		old := labelled(step(k, 1), labels{"user": "ann", "state": "open"})
		p.commit(old)
		p.commit(labelled(step(key(k.Thread, "sub"), 1), labels{"user": "ann", "state": "open"}))
		l := labels{"user": "ann"}
		if n%2 == 0 {
			l["state"] = "done"
			keys = append(keys, k)
		}
		p.commit(labelled(step(k, 2), l))
	}
	done := labels{"state": "done", "user": "ann"}
	p.same("threads are found by the labels of their root heads", names(p.threads(checkpoint.ThreadQuery{Where: done})), names(rootsOf(keys)))
	p.same("threads are not found by labels of older commits or other namespaces", names(p.threads(checkpoint.ThreadQuery{Where: labels{"state": "open"}})), names(nil))
	p.same("Limit counts what was found", names(p.threads(checkpoint.ThreadQuery{Where: done, Limit: 70})), names(rootsOf(keys[:70])))
	p.same("After and Where go together", names(p.threads(checkpoint.ThreadQuery{Where: done, After: keys[69].Thread, Limit: 2})), names(rootsOf(keys[70:72])))
}

// hostileLabels uses names that break queries, patterns and separators as labels.
func hostileLabels(p *probe) {
	var names []string
	for _, name := range hostile {
		if len(name) <= checkpoint.MaxLabelKey && !strings.ContainsRune(name, 0) {
			names = append(names, name)
		}
	}
	names = append(names, "a", "b", "a=b", "$.a", `a"b`, "x' OR '1'='1", "--", "\u007f", "\U0010ffff", "ÿ", "þ", " ", strings.Repeat("k", checkpoint.MaxLabelKey))
	k := key("thread")
	for i, name := range names {
		p.commit(labelled(step(k, uint64(i)+1), labels{name: "value", "name": name, "same": "x"}))
	}
	for i, name := range names {
		n := uint64(i) + 1
		p.same("every text is a value of its own", seqs(p.history(k, checkpoint.Query{Where: labels{"name": name}})), []uint64{n})
		if name != "name" && name != "same" {
			p.same("every text is a key of its own", seqs(p.history(k, checkpoint.Query{Where: labels{name: "value"}})), []uint64{n})
		}
		p.same("labels of any text come back", show(p.load(k, n).Labels), show(labels{name: "value", "name": name, "same": "x"}))
		p.same("a pattern matches nothing", len(p.history(k, checkpoint.Query{Where: labels{name: "val"}})), 0)
	}
	p.same("hostile text finds nothing by itself", len(p.history(k, checkpoint.Query{Where: labels{"name": "' OR 1=1 --", "%": "%"}})), 0)
	long := labels{"long": strings.Repeat("é", checkpoint.MaxLabelValue/2)}
	p.commit(labelled(step(k, uint64(len(names))+1), long))
	p.same("a value may be as long as allowed", seqs(p.history(k, checkpoint.Query{Where: long})), []uint64{uint64(len(names)) + 1})
}

func badLabels(p *probe) {
	many := labels{}
	for n := range checkpoint.MaxLabels + 1 {
		many[fmt.Sprint(n)] = "x"
	}
	for _, l := range []labels{
		{"": "x"}, {"a\x00": "x"}, {"a": "x\x00"}, {"\xff": "x"}, {"a": "\xfe"}, many,
		{strings.Repeat("k", checkpoint.MaxLabelKey+1): "x"}, {"a": strings.Repeat("v", checkpoint.MaxLabelValue+1)},
	} {
		p.fails("labels that are no text, or too long, or too many are refused", p.store.Commit(p.Context(), labelled(step(key("thread"), 1), l)), checkpoint.ErrRequest)
	}
	p.same("a refused commit starts no thread", names(p.threads(checkpoint.ThreadQuery{})), names(nil))
	delete(many, "0")
	p.commit(labelled(step(key("thread"), 1), many))
	p.commit(labelled(step(key("pair"), 1), labels{"a": "b", "c": "d"}))
	for _, where := range []labels{{"a\xfeb\xffc": "d"}, {"a": "b\xffc\xfed"}, {"a\x00b": "c"}, {"a": "b\x00c\x00d"}} {
		p.same("a label that is no text finds nothing", len(p.history(key("pair"), checkpoint.Query{Where: where})), 0)
	}
	p.same("there may be as many labels as allowed", show(p.load(key("thread"), 0).Labels), show(many))
	for _, where := range []labels{{"a\x00": ""}, {"\xff": "\xfe"}, {"": ""}, {strings.Repeat("k", 10000): "x"}} {
		p.same("a label that no commit can have finds nothing", len(p.history(key("thread"), checkpoint.Query{Where: where}))+len(p.threads(checkpoint.ThreadQuery{Where: where})), 0)
	}
}
