// Verifies receipts with Go's own code for signed notes and Merkle trees (golang.org/x/mod/sumdb), which knows nothing of
// malipo's. It reads a case a line as JSON and writes "ok" or why it is refused. See tests/receipts/test_go_agrees.py.
package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"verify/sumdb/note"
	"verify/sumdb/tlog"
)

type Case struct {
	Receipt     string   `json:"receipt"`
	Keys        []string `json:"keys"`
	Handovers   []string `json:"handovers"`
	Older       string   `json:"older"`
	Consistency []string `json:"consistency"`
}

type object = map[string]any

// A key of the log signs as type 1, which the package knows, and as type 4, a cosignature with a time.
type cosigner struct {
	name string
	hash uint32
	key  ed25519.PublicKey
}

func (c cosigner) Name() string    { return c.name }
func (c cosigner) KeyHash() uint32 { return c.hash }
func (c cosigner) Verify(msg, sig []byte) bool {
	if len(sig) != 72 {
		return false
	}
	signed := fmt.Sprintf("cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(sig), msg)
	return ed25519.Verify(c.key, []byte(signed), sig[8:])
}

func cosignerOf(vkey string) (cosigner, error) {
	parts := strings.SplitN(vkey, "+", 3)
	raw, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(raw) != 33 {
		return cosigner{}, errors.New("a key is wrong")
	}
	sum := sha256.Sum256([]byte(parts[0] + "\n\x04" + string(raw[1:])))
	return cosigner{parts[0], binary.BigEndian.Uint32(sum[:4]), ed25519.PublicKey(raw[1:])}, nil
}

// Trusted keys, each with the last size that it may sign; below zero: any.
type trust map[string]int64

var headText = regexp.MustCompile(`^([^\n]+)\n(0|[1-9][0-9]{0,18})\n([^\n]{44})\n$`)

type head struct {
	origin string
	tree   tlog.Tree
}

func parseHead(text string) (head, error) {
	match := headText.FindStringSubmatch(text)
	if match == nil {
		return head{}, errors.New("a checkpoint is wrong")
	}
	size, err := strconv.ParseInt(match[2], 10, 64)
	if err != nil {
		return head{}, err
	}
	root, err := tlog.ParseHash(match[3])
	return head{match[1], tlog.Tree{N: size, Hash: root}}, err
}

func (t trust) open(text string) (head, error) {
	var verifiers []note.Verifier
	owners := map[string]string{}
	for vkey := range t {
		signer, err := note.NewVerifier(vkey)
		if err != nil {
			return head{}, err
		}
		with, err := cosignerOf(vkey)
		if err != nil {
			return head{}, err
		}
		if signer.Name() != strings.SplitN(text, "\n", 2)[0] {
			continue
		}
		verifiers = append(verifiers, signer, with)
		owners[fmt.Sprint(signer.KeyHash())], owners[fmt.Sprint(with.KeyHash())] = vkey+" 1", vkey+" 4"
	}
	opened, err := note.Open([]byte(text), note.VerifierList(verifiers...))
	if err != nil {
		return head{}, err
	}
	found := map[string]bool{}
	for _, sig := range opened.Sigs {
		found[owners[fmt.Sprint(sig.Hash)]] = true
	}
	for vkey, limit := range t {
		if found[vkey+" 1"] && found[vkey+" 4"] {
			read, err := parseHead(opened.Text)
			if err == nil && limit >= 0 && read.tree.N > limit {
				err = errors.New("the key was retired")
			}
			return read, err
		}
	}
	return head{}, errors.New("not signed with a time by a trusted key")
}

func (t trust) follow(handovers []string) error {
	type next struct {
		size int64
		key  string
	}
	known := map[string]next{}
	for _, text := range handovers {
		lines := strings.Split(strings.SplitN(text, "\n\n", 2)[0], "\n")
		if len(lines) != 5 || lines[0] != "malipo receipt log handover v1" {
			return errors.New("a handover is wrong")
		}
		last, err := parseHead("-\n" + lines[2] + "\n" + lines[3] + "\n")
		if err != nil {
			return err
		}
		for _, vkey := range []string{lines[1], lines[4]} {
			signer, err := note.NewVerifier(vkey)
			if err != nil {
				return err
			}
			if _, err := note.Open([]byte(text), note.VerifierList(signer)); err != nil {
				return err
			}
		}
		before, is := known[lines[1]]
		if is && before.key != lines[4] {
			return errors.New("a key was handed over to two others")
		}
		known[lines[1]] = next{max(last.tree.N, before.size), lines[4]}
	}
	for again := true; again; {
		again = false
		for old, to := range known {
			_, trustsOld := t[old]
			_, trustsNew := t[to.key]
			if trustsOld || trustsNew {
				t[old] = to.size
				if !trustsNew {
					t[to.key] = -1
				}
				delete(known, old)
				again = true
			}
		}
	}
	return nil
}

// Go takes the last of two equal names; here they are refused.
func decode(text string) (any, error) {
	reader := json.NewDecoder(strings.NewReader(text))
	reader.UseNumber()
	value, err := decodeValue(reader)
	if err != nil {
		return nil, err
	}
	if _, err := reader.Token(); err == nil {
		return nil, errors.New("more than one value")
	}
	return value, nil
}

func decodeValue(reader *json.Decoder) (any, error) {
	token, err := reader.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		found := object{}
		for reader.More() {
			name, err := reader.Token()
			if err != nil {
				return nil, err
			}
			if _, is := found[name.(string)]; is {
				return nil, errors.New("a name stands twice")
			}
			if found[name.(string)], err = decodeValue(reader); err != nil {
				return nil, err
			}
		}
		_, err = reader.Token()
		return found, err
	case json.Delim('['):
		found := []any{}
		for reader.More() {
			each, err := decodeValue(reader)
			if err != nil {
				return nil, err
			}
			found = append(found, each)
		}
		_, err = reader.Token()
		return found, err
	}
	return token, nil
}

type proven struct {
	fact   object
	origin string
	index  int64
	tree   tlog.Tree
}

func text(of object, name string) string {
	value, _ := of[name].(string)
	return value
}

func verifyFact(line object, t trust) (proven, error) {
	said := text(line, "fact")
	decoded, err := decode(said)
	fact, is := decoded.(object)
	if err != nil || !is {
		return proven{}, errors.New("a fact is wrong")
	}
	var canonical bytes.Buffer
	writer := json.NewEncoder(&canonical)
	writer.SetEscapeHTML(false)
	if err := writer.Encode(fact); err != nil || strings.TrimSuffix(canonical.String(), "\n") != said {
		return proven{}, errors.New("a fact is not canonical")
	}
	salt, err := hex.DecodeString(text(line, "salt"))
	if err != nil || len(salt) != 32 || fact["version"] != json.Number("1") || line["kind"] != fact["fact"] {
		return proven{}, errors.New("a fact is wrong")
	}
	before, checkpoint, found := strings.Cut(text(line, "proof"), "\n\n")
	lines := strings.Split(before, "\n")
	if !found || lines[0] != "c2sp.org/tlog-proof@v1" || len(lines) < 2 {
		return proven{}, errors.New("a proof is wrong")
	}
	lines = lines[1:]
	if strings.HasPrefix(lines[0], "extra ") {
		lines = lines[1:]
	}
	if !regexp.MustCompile(`^index (0|[1-9][0-9]{0,18})$`).MatchString(lines[0]) {
		return proven{}, errors.New("a proof has no index")
	}
	index, err := strconv.ParseInt(lines[0][6:], 10, 64)
	if err != nil {
		return proven{}, err
	}
	var proof tlog.RecordProof
	for _, each := range lines[1:] {
		hash, err := tlog.ParseHash(each)
		if err != nil {
			return proven{}, err
		}
		proof = append(proof, hash)
	}
	head, err := t.open(checkpoint)
	if err != nil {
		return proven{}, err
	}
	entry := sha256.Sum256(append(salt, said...))
	if index >= head.tree.N {
		return proven{}, errors.New("the leaf is not in the tree")
	}
	if err := tlog.CheckRecord(proof, head.tree.N, head.tree.Hash, index, tlog.RecordHash(entry[:])); err != nil {
		return proven{}, err
	}
	return proven{fact, head.origin, index, head.tree}, nil
}

func amount(value any) int64 {
	number, _ := value.(json.Number)
	whole, _ := number.Int64()
	return whole
}

func verify(c Case) error {
	t := trust{}
	for _, each := range c.Keys {
		t[each] = -1
	}
	if err := t.follow(c.Handovers); err != nil {
		return err
	}
	decoded, err := decode(c.Receipt)
	receipt, is := decoded.(object)
	if err != nil || !is {
		return errors.New("not a receipt")
	}
	lines, _ := receipt["facts"].([]any)
	if len(lines) == 0 {
		return errors.New("nothing is proven")
	}
	var found []proven
	places, trees := map[string]bool{}, map[string]tlog.Tree{}
	for _, each := range lines {
		line, is := each.(object)
		if !is {
			return errors.New("a fact is wrong")
		}
		one, err := verifyFact(line, t)
		if err != nil {
			return err
		}
		place := fmt.Sprint(one.origin, " ", one.index)
		if places[place] {
			return errors.New("a fact stands there twice")
		}
		places[place] = true
		if before, is := trees[one.origin]; is && before != one.tree {
			return errors.New("the receipt has two checkpoints of one log")
		}
		trees[one.origin] = one.tree
		found = append(found, one)
	}
	first := found[0].fact
	differs := errors.New("the receipt differs from its proof")
	if first["refund"] != nil || receipt["id"] != first["payment"] {
		return differs
	}
	for _, name := range []string{"reference", "type", "amount", "currency", "channel", "phone"} {
		if !reflect.DeepEqual(receipt[name], first[name]) {
			return differs
		}
	}
	if !reflect.DeepEqual(receipt["providerReference"], first["networkReceipt"]) {
		return differs
	}
	completedAt := any(nil)
	if first["fact"] == "completed" {
		completedAt = first["at"]
	}
	if (first["fact"] == "completed") != (receipt["status"] == "COMPLETED") || receipt["completedAt"] != completedAt {
		return differs
	}
	merchant, _ := receipt["merchant"].(object)
	names := map[string]string{"name": "merchantName", "registeredName": "merchantRegisteredName", "tin": "merchantTin"}
	for name, fact := range names {
		if !reflect.DeepEqual(merchant[name], first[fact]) {
			return differs
		}
	}
	// What is known last of each refund, and under "" of the payment itself.
	type end struct {
		ordinal     int64
		amount      int64
		outcome, at any
	}
	ends, known := map[string]end{}, map[string]bool{}
	for _, each := range found {
		if each.fact["payment"] != first["payment"] || each.fact["merchant"] != first["merchant"] {
			return errors.New("the receipt has facts of another payment")
		}
		kind, refund, ordinal := each.fact["fact"], "", amount(each.fact["ordinal"])
		if each.fact["refund"] != nil {
			refund = each.fact["refund"].(string)
		}
		name := fmt.Sprint(kind, refund, ordinal)
		if known[name] || (kind == "refunded" && refund == "") {
			return errors.New("a fact stands there twice")
		}
		known[name] = true
		outcome := any("COMPLETED")
		if kind == "corrected" {
			outcome = each.fact["outcome"]
		}
		if before, is := ends[refund]; kind != "completed" && (!is || before.ordinal <= ordinal) {
			ends[refund] = end{ordinal, amount(each.fact["amount"]), outcome, each.fact["at"]}
		}
	}
	refunded := int64(0)
	for refund, each := range ends {
		if refund != "" && each.outcome == "COMPLETED" {
			refunded += each.amount
		}
	}
	if amount(receipt["refundedAmount"]) != refunded {
		return errors.New("the receipt says another sum of refunds")
	}
	correction, isSaid := receipt["correction"].(object)
	proven, isProven := ends[""]
	if isSaid != isProven || (isProven && (correction["outcome"] != proven.outcome || correction["correctedAt"] != proven.at)) {
		return errors.New("the receipt hides a correction, or says another one")
	}
	if c.Older == "" {
		return nil
	}
	older, err := t.open(c.Older)
	if err != nil {
		return err
	}
	newest, is := trees[older.origin]
	if !is || older.tree.N > newest.N {
		return errors.New("the newer checkpoint is the smaller one, or of another log")
	}
	var path tlog.TreeProof
	for _, each := range c.Consistency {
		hash, err := tlog.ParseHash(each)
		if err != nil {
			return err
		}
		path = append(path, hash)
	}
	return tlog.CheckTree(path, newest.N, newest.Hash, older.tree.N, older.tree.Hash)
}

func main() {
	reader := bufio.NewReaderSize(os.Stdin, 1<<20)
	writer := bufio.NewWriter(os.Stdout)
	defer writer.Flush()
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			var c Case
			if err := json.Unmarshal(line, &c); err != nil {
				panic(err)
			}
			if refusal := verify(c); refusal != nil {
				fmt.Fprintln(writer, "refused:", strings.ReplaceAll(refusal.Error(), "\n", " "))
			} else {
				fmt.Fprintln(writer, "ok")
			}
		}
		if err != nil {
			return
		}
	}
}
