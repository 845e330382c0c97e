package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

var number = regexp.MustCompile(`A-\d+`)

// rules returns a model that follows a few rules and needs no network.
func rules() model.Model {
	return model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == message.RoleTool {
			return model.Say(report(last.Results[0]))
		}
		id := number.FindString(last.Text())
		if id == "" {
			id = mentioned(r.Messages)
		}
		switch {
		case id == "":
			return model.Say("Which order do you mean?")
		case strings.Contains(last.Text(), "money back"):
			return model.Ask(ask("refund", map[string]any{"id": id, "amount": orders[id].Paid}))
		}
		return model.Ask(ask("lookup", map[string]any{"id": id}))
	})
}

func ask(name string, args map[string]any) message.Call {
	data, _ := json.Marshal(args)
	return message.Call{ID: "1", Name: name, Arguments: data}
}

func report(r message.Result) string {
	var o Order
	switch err := json.Unmarshal([]byte(r.Text()), &o); {
	case r.IsError:
		return "I am sorry: " + r.Text()
	case err == nil:
		return fmt.Sprintf("Your order %s, %s, %s.", o.ID, o.What, o.State)
	}
	return "Done: " + r.Text() + "."
}

// mentioned returns the order number that was mentioned last.
func mentioned(ms []message.Message) (id string) {
	for _, m := range ms {
		if found := number.FindString(m.Text()); found != "" {
			id = found
		}
	}
	return id
}
