package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/state/message"
)

// documents are what the demonstration's sources know, by source and topic.
var documents = map[string]map[string][]string{
	"manuals":  {"broken": {"A kettle must not be used when it is cracked."}},
	"orders":   {"broken": {"A-17: a blue kettle, 39.90"}, "delivery": {"A-18: two cups, on its way"}},
	"policies": {"broken": {"What arrives broken is refunded."}, "delivery": {"Parcels arrive within three days."}},
}

// demoShop finds documents in this file, and pays by a line in the file that TRIAGE_PAYMENTS names.
func demoShop() shop {
	return shop{
		find: func(_ context.Context, source, topic string) ([]string, error) {
			if os.Getenv("TRIAGE_DOWN") == source {
				return nil, fmt.Errorf("%s cannot be reached", source)
			}
			return documents[source][topic], nil
		},
		pay: pay,
	}
}

// pay writes a payment unless one with its id is written already, as a bank with idempotency keys
// does.
func pay(_ context.Context, id string, r Refund) error {
	payments := os.Getenv("TRIAGE_PAYMENTS")
	if payments == "" {
		return nil
	}
	paid, err := os.ReadFile(payments)
	if err != nil && !os.IsNotExist(err) || strings.Contains(string(paid), id) {
		return err
	}
	line := fmt.Sprintf("%s%s %s %.2f\n", paid, id, r.Order, r.Amount)
	if err := os.WriteFile(payments, []byte(line), 0o600); err != nil {
		return err
	}
	if os.Getenv("TRIAGE_CRASH") != "" { // as kill -9 would, before the result is stored
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		return self.Kill()
	}
	return nil
}

var number = regexp.MustCompile(`A-\d+`)

// rules returns a model that follows a few rules and needs no network.
func rules() model.Model {
	return model.ScriptFunc(func(_ context.Context, r model.Request) model.Answer {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case os.Getenv("TRIAGE_DOWN") == "model" && r.Output != nil:
			return model.Fail(&model.Error{Kind: model.Unreachable, Message: "the model is down"})
		case r.Output != nil:
			return model.Say(fmt.Sprintf(`{"topic":%q}`, topicOf(last.Text())))
		case last.Role == message.RoleTool && last.Results[0].IsError:
			return model.Say("I could not refund it: " + last.Results[0].Text())
		case last.Role == message.RoleTool:
			return model.Say("I have " + last.Results[0].Text() + ".")
		case strings.Contains(last.Text(), "what"):
			return model.Say("Earlier: " + earlier(r.Messages))
		case strings.Contains(last.Text(), "broken"):
			args, _ := json.Marshal(Refund{Order: number.FindString(last.Text()), Amount: 39.90})
			return model.Ask(message.Call{ID: "1", Name: "refund", Arguments: args})
		}
		_, known, _ := strings.Cut(r.Messages[0].Text(), "Documents:\n")
		return model.Say("I know this: " + known)
	})
}

func topicOf(text string) string {
	for _, topic := range []string{"broken", "delivery"} {
		if strings.Contains(text, topic) {
			return topic
		}
	}
	return "other"
}

// earlier returns the last answer of the assistant.
func earlier(ms []message.Message) string {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Role == message.RoleAssistant && ms[i].Text() != "" {
			return ms[i].Text()
		}
	}
	return "nothing"
}
