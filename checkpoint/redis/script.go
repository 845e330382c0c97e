package redis

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
)

// script is a Lua script. Servers know it by its SHA-1 once they have run its text.
type script struct {
	text, sha string
	writes    bool     // a lost reply leaves open whether it happened
	adds      bool     // a second run may do something more, so it is not sent again for being slow
	tails     []string // what further keys have after the first one
}

//go:embed scripts/*.lua
var scripts embed.FS

// newScript joins files. It panics when the binary was built without one of them.
func newScript(writes bool, files ...string) *script {
	text := ""
	for _, name := range files {
		part, err := scripts.ReadFile("scripts/" + name + ".lua")
		if err != nil {
			panic(err)
		}
		text += string(part)
	}
	sum := sha1.Sum([]byte(text))
	return &script{text: text, sha: hex.EncodeToString(sum[:]), writes: writes}
}

// adding marks a script that cannot always detect that it is sent twice. A deletion leaves no
// trace, and another write may have replaced the trace of a write.
func adding(sc *script) *script {
	sc.adds = true
	return sc
}

var (
	commitScript     = newScript(true, "commit", "common", "commit_any")
	putScript        = newScript(true, "common", "put")
	dropScript       = newScript(true, "common", "drop")
	acquireScript    = newScript(true, "common", "acquire")
	releaseScript    = newScript(true, "common", "release")
	expireScript     = newScript(true, "common", "expire")
	loadScript       = newScript(false, "common", "load")
	historyScript    = newScript(false, "common", "history")
	namespacesScript = newScript(false, "common", "namespaces")

	memoryWriteScript   = adding(newScript(true, "memory_common", "memory_vectors", "memory_write").with(":k", ":x", ":v"))
	memoryReadScript    = newScript(false, "memory_common", "memory_read").with(":k", ":x")
	memoryScanScript    = newScript(false, "memory_common", "memory_scan").with(":k", ":x")
	memoryAnyScript     = newScript(false, "memory_common", "memory_any").with(":k", ":x")
	memoryKeepScript    = newScript(true, "memory_common", "memory_vectors", "memory_keep").with(":k", ":x", ":v")
	memoryNearScript    = newScript(false, "memory_common", "memory_near").with(":k", ":x")
	memoryDimsScript    = newScript(true, "memory_dims").with(":v")
	documentWriteScript = adding(newScript(true, "document_common", "document_write").with(":o"))
	documentReadScript  = newScript(false, "document_common", "document_read").with(":o")
	documentScanScript  = newScript(false, "document_common", "document_scan").with(":o")
	documentCountScript = newScript(false, "document_common", "document_count").with(":o")
	documentClearScript = adding(newScript(true, "document_common", "document_clear").with(":o"))

	blobStageScript   = newBlobScript(true, "blob_stage")
	blobFinishScript  = newBlobScript(true, "blob_finish")
	blobDiscardScript = newBlobScript(true, "blob_discard")
	blobClaimScript   = newBlobScript(true, "blob_claim")
	blobClaimsScript  = newBlobScript(false, "blob_claims")
	blobOwnersScript  = newBlobScript(false, "blob_owners")
	blobReleaseScript = newBlobScript(true, "blob_release")

	memoryListScript = newScript(true, "memory_list").with(":t")
	memoryMendScript = newScript(true, "memory_mend").with(":t")
)

// newBlobScript joins the files of a script of blobs.
func newBlobScript(writes bool, name string) *script {
	return newScript(writes, "blob_common", name).with(":u", ":g", ":h", ":c", ":d", ":a")
}

// with adds keys to those of a script: the first one with a tail.
func (sc *script) with(tails ...string) *script {
	sc.tails = tails
	return sc
}
