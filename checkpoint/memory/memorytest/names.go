package memorytest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrun/weft/checkpoint/memory"
)

var nameRules = []rule{
	{"HostileNamespaces", hostileNamespaces},
	{"HostilePrefixes", hostilePrefixes},
	{"HostileKeys", hostileKeys},
	{"LongNames", longNames},
	{"BadNamespaces", badNamespaces},
	{"BadKeys", badKeys},
}

func hostileNamespaces(p *probe) {
	for i, label := range hostile {
		p.put([]string{label}, "k", fmt.Sprint(i))
		p.put([]string{"x", label, "y"}, "k", fmt.Sprint(i))
	}
	for i, label := range hostile {
		p.Same(fmt.Sprintf("%q is a label like others", label), string(p.get([]string{label}, "k").Value), fmt.Sprint(i))
		item := p.get([]string{"x", label, "y"}, "k")
		p.Same(fmt.Sprintf("%q is a label like others", label), string(item.Value), fmt.Sprint(i))
		p.Same("a namespace comes back as it was put", fmt.Sprintf("%q", item.Namespace), fmt.Sprintf("%q", []string{"x", label, "y"}))
	}
	p.Same("none hides another", len(p.search(memory.Query{Limit: 1000})), 2*len(hostile))
	want := slices.Clone(hostile)
	slices.Sort(want)
	list, err := p.store.Namespaces(p.Context(), memory.NamespaceQuery{Prefix: []string{"x"}, Limit: 1000})
	p.Done("hostile namespaces can be listed", err)
	var got []string
	for _, ns := range list {
		got = append(got, ns[1])
	}
	p.Same("namespaces are listed in order of their bytes", fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
}

func hostilePrefixes(p *probe) {
	for _, label := range hostile {
		p.put([]string{label, "x"}, "k", `1`)
	}
	for _, label := range hostile {
		var got [][]string
		for _, f := range p.search(memory.Query{Prefix: []string{label}}) {
			got = append(got, f.Namespace)
		}
		p.Same(fmt.Sprintf("%q is a prefix of one namespace, and no pattern", label), fmt.Sprintf("%q", got), fmt.Sprintf("%q", [][]string{{label, "x"}}))
	}
}

func hostileKeys(p *probe) {
	for i, key := range hostile {
		p.put(home, key, fmt.Sprint(i))
	}
	for i, key := range hostile {
		p.Same(fmt.Sprintf("%q is a key like others", key), string(p.get(home, key).Value), fmt.Sprint(i))
	}
	want := slices.Clone(hostile)
	slices.Sort(want)
	var got []string
	for _, f := range p.search(memory.Query{}) {
		got = append(got, f.Key)
	}
	p.Same("keys are listed in order of their bytes", fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
	p.delete(home, "*")
	p.delete(home, "%")
	p.Same("a deletion takes one key", len(p.search(memory.Query{})), len(hostile)-2)
}

func longNames(p *probe) {
	deep := slices.Repeat([]string{strings.Repeat("x", 31)}, memory.MaxLabels)
	deep[31] = strings.Repeat("x", memory.MaxNamespace-31*32) // 32 labels, 31 zero bytes between them
	for _, ns := range [][]string{deep, {strings.Repeat("é", memory.MaxLabel/2)}, slices.Repeat([]string{"x"}, memory.MaxLabels)} {
		for _, key := range []string{strings.Repeat("k", memory.MaxKey), strings.Repeat("k", memory.MaxKey-1) + "l"} {
			p.put(ns, key, `1`)
			p.Same("names may be as long as the limits", p.get(ns, key).Key, key)
		}
	}
	p.Same("long names differ by their last byte", len(p.search(memory.Query{})), 6)
}

func badNamespaces(p *probe) {
	for _, ns := range [][]string{
		nil, {}, {""}, {"a", ""}, {"", "a"}, {"a\x00b"}, {"\xff"}, {strings.Repeat("x", memory.MaxLabel+1)},
		slices.Repeat([]string{"x"}, memory.MaxLabels+1), slices.Repeat([]string{strings.Repeat("x", 256)}, 4),
	} {
		name := fmt.Sprintf("%.60q is no namespace", ns)
		_, err := p.store.Put(p.Context(), ns, "k", json.RawMessage(`1`), memory.Options{})
		p.Fails(name, err, memory.ErrNamespace)
		_, err = p.store.Get(p.Context(), ns, "k")
		p.Fails(name, err, memory.ErrNamespace)
		p.Fails(name, p.store.Delete(p.Context(), ns, "k"), memory.ErrNamespace)
		if len(ns) == 0 {
			continue // means all
		}
		_, err = p.store.Search(p.Context(), memory.Query{Prefix: ns})
		p.Fails(name+", and no prefix", err, memory.ErrNamespace)
		_, err = p.store.Namespaces(p.Context(), memory.NamespaceQuery{Suffix: ns})
		p.Fails(name+", and no suffix", err, memory.ErrNamespace)
	}
	p.Same("nothing was stored", p.keys(memory.Query{}), "")
}

func badKeys(p *probe) {
	for _, key := range []string{"", "\xff", "a\x00", strings.Repeat("k", memory.MaxKey+1)} {
		name := fmt.Sprintf("%.60q is no key", key)
		_, err := p.store.Put(p.Context(), home, key, json.RawMessage(`1`), memory.Options{})
		p.Fails(name, err, memory.ErrKey)
		_, err = p.store.Get(p.Context(), home, key)
		p.Fails(name, err, memory.ErrKey)
		p.Fails(name, p.store.Delete(p.Context(), home, key), memory.ErrKey)
	}
	p.Same("nothing was stored", p.keys(memory.Query{}), "")
}
