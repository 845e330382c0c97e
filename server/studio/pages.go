package studio

import "net/http"

// recordPages are the pages of sizes, assistants, crons, items and the server.
var recordPages = map[string]func(*request) (view, error){
	"/threads/{id}/sizes": showSizes,
	"/assistants":         listAssistants,
	"/assistants/{id}":    showAssistant,
	"/crons":              listCrons,
	"/store":              listItems,
	"/store/item":         showItem,
	"/system":             showSystem,
}

// recordForms are the forms of these pages.
var recordForms = map[string]func(*request) (view, string, error){
	"/assistants":             createAssistant,
	"/assistants/{id}":        changeAssistant,
	"/assistants/{id}/latest": useVersion,
	"/assistants/{id}/delete": deleteAssistant,
	"/crons":                  createCron,
	"/crons/{id}":             changeCron,
	"/crons/{id}/delete":      deleteCron,
	"/store/item":             putItem,
	"/store/item/delete":      deleteItem,
}

// addRecords adds the pages of records, and their forms unless the studio only reads.
func (s *Handler) addRecords() {
	for pattern, show := range recordPages {
		s.mux.HandleFunc("GET "+s.config.Base+pattern, s.page(show))
	}
	if s.config.ReadOnly {
		return
	}
	for pattern, act := range recordForms {
		s.mux.HandleFunc(http.MethodPost+" "+s.config.Base+pattern, s.act(act))
	}
}
