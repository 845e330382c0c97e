package redis

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
)

// script is a Lua script. Servers know it by its SHA-1 once they have run its text.
type script struct {
	name, text, sha string
	writes          bool // a lost reply leaves open whether it happened
}

//go:embed scripts/common.lua
var common string

//go:embed scripts/*.lua
var scripts embed.FS

func newScript(name string, writes bool) *script {
	body, err := scripts.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(err) // the binary was built without it
	}
	text := common + string(body)
	sum := sha1.Sum([]byte(text))
	return &script{name: name, text: text, sha: hex.EncodeToString(sum[:]), writes: writes}
}

var (
	commitScript     = newScript("commit", true)
	putScript        = newScript("put", true)
	dropScript       = newScript("drop", true)
	acquireScript    = newScript("acquire", true)
	releaseScript    = newScript("release", true)
	expireScript     = newScript("expire", true)
	loadScript       = newScript("load", false)
	historyScript    = newScript("history", false)
	namespacesScript = newScript("namespaces", false)
)
