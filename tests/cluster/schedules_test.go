package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

// Kubernetes's CronJob controller reads schedules with this parser, after it has put the time zone before them.
func readAsKubernetes(t *testing.T, expression string) cron.Schedule {
	t.Helper()
	schedule, err := cron.ParseStandard("TZ=Etc/UTC " + expression)
	if err != nil {
		t.Fatalf("Kubernetes refuses %q: %v", expression, err)
	}
	return schedule
}

func TestKubernetesRunsASchedulesAsTheContractSays(t *testing.T) {
	after := "2027-12-30T23:50"
	for expression, want := range map[string]string{
		"* * * * *":    "2027-12-30T23:51 2027-12-30T23:52 2027-12-30T23:53",
		"0 3 * * *":    "2027-12-31T03:00 2028-01-01T03:00 2028-01-02T03:00",
		"*/15 * * * *": "2027-12-31T00:00 2027-12-31T00:15 2027-12-31T00:30",
		// n/s runs from n to the end of the range.
		"50/5 * * * *":  "2027-12-30T23:55 2027-12-31T00:50 2027-12-31T00:55",
		"0 20/2 * * *":  "2027-12-31T20:00 2027-12-31T22:00 2028-01-01T20:00",
		"0 0 29/1 2 *":  "2028-02-29T00:00 2032-02-29T00:00",
		"7/100 0 1 1 *": "2028-01-01T00:07 2029-01-01T00:07 2030-01-01T00:07",
		// A step counts from the start of its range, not from zero.
		"5-20/7 0 1 1 *": "2028-01-01T00:05 2028-01-01T00:12 2028-01-01T00:19",
		"0 0 2-6/3 1 *":  "2028-01-02T00:00 2028-01-05T00:00 2029-01-02T00:00",
		// 0 is Sunday, 6 Saturday. The 31st is a Friday.
		"0 0 * * 0":   "2028-01-02T00:00 2028-01-09T00:00",
		"0 0 * * 6":   "2028-01-01T00:00 2028-01-08T00:00",
		"0 0 * * 4/2": "2028-01-01T00:00 2028-01-06T00:00 2028-01-08T00:00",
		// Of two restricted day fields either matches.
		"0 0 13 * 5":     "2027-12-31T00:00 2028-01-07T00:00 2028-01-13T00:00 2028-01-14T00:00",
		"0 0 1,15 * 1-2": "2028-01-01T00:00 2028-01-03T00:00 2028-01-04T00:00",
		// One that is not restricted leaves it to the other.
		"0 0 * * 1":  "2028-01-03T00:00 2028-01-10T00:00",
		"0 0 31 * *": "2027-12-31T00:00 2028-01-31T00:00 2028-03-31T00:00",
		// Leading zeros, and a list with what is in it already.
		"00 007 01 01,1 *": "2028-01-01T07:00 2029-01-01T07:00",
		// A day that never comes.
		"0 0 31 2 *": "",
	} {
		schedule := readAsKubernetes(t, expression)
		next := at(t, after)
		for _, run := range strings.Fields(want) {
			next = schedule.Next(next)
			if !next.Equal(at(t, run)) {
				t.Errorf("%q runs at %s, not at %s", expression, next, run)
			}
		}
		if want == "" && !schedule.Next(next).IsZero() {
			t.Errorf("%q runs at %s", expression, schedule.Next(next))
		}
	}
}

func TestKubernetesReadsTheWholeGrammarOfTheContract(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		fields := make([]string, len(bounds))
		for i, bound := range bounds {
			fields[i] = randomField(random, bound)
		}
		expression := strings.Join(fields, " ")
		schedule := readAsKubernetes(t, expression)
		is := meaning(fields)
		// A window of a few weeks, in which neither has a run that the other has not.
		from := at(t, "2027-01-01T00:00").Add(time.Duration(random.IntN(2*366*24*60)) * time.Minute)
		next := schedule.Next(from)
		for now := from.Add(time.Minute); now.Before(from.Add(21 * 24 * time.Hour)); now = now.Add(time.Minute) {
			if now.Equal(next) != is.at(now) {
				t.Fatalf("%q: Kubernetes runs it at %s, and the contract says %t of %s", expression, next, is.at(now), now)
			}
			if now.Equal(next) {
				next = schedule.Next(now)
			}
		}
	}
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.ParseInLocation("2006-01-02T15:04", text, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

// minute, hour, day of month, month, day of week
var bounds = [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}}

func randomField(random *rand.Rand, bound [2]int) string {
	var entries []string
	for range 1 + random.IntN(2) {
		low := bound[0] + random.IntN(bound[1]-bound[0]+1)
		high := low + random.IntN(bound[1]-low+1)
		entry := [...]string{"*", "*", strconv.Itoa(low), fmt.Sprintf("%d-%d", low, high)}[random.IntN(4)]
		if random.IntN(3) == 0 {
			entry += "/" + strconv.Itoa(1+random.IntN(bound[1]))
		}
		entries = append(entries, entry)
	}
	return strings.Join(entries, ",")
}

// runs says of each field which values it has, and whether either day field is enough.
type runs struct {
	has       [5][60]bool
	eitherDay bool
}

// meaning is the contract's grammar, written out.
func meaning(fields []string) runs {
	r := runs{eitherDay: isRestricted(fields[2]) && isRestricted(fields[4])}
	for i, field := range fields {
		for value := bounds[i][0]; value <= bounds[i][1]; value++ {
			r.has[i][value] = contains(field, value, bounds[i])
		}
	}
	return r
}

func (r *runs) at(now time.Time) bool {
	_, month, day := now.Date()
	byMonth, byWeek := r.has[2][day], r.has[4][now.Weekday()]
	isDay := byMonth && byWeek
	if r.eitherDay {
		isDay = byMonth || byWeek
	}
	return isDay && r.has[0][now.Minute()] && r.has[1][now.Hour()] && r.has[3][month]
}

func contains(field string, value int, bound [2]int) bool {
	for _, entry := range strings.Split(field, ",") {
		span, step, hasStep := strings.Cut(entry, "/")
		low, high, isRange := strings.Cut(span, "-")
		from, _ := strconv.Atoi(low)
		to, _ := strconv.Atoi(high)
		switch {
		case span == "*":
			from, to = bound[0], bound[1]
		case !isRange && hasStep:
			to = bound[1]
		case !isRange:
			to = from
		}
		every := 1
		if hasStep {
			every, _ = strconv.Atoi(step)
		}
		if value >= from && value <= to && (value-from)%every == 0 {
			return true
		}
	}
	return false
}

// isRestricted says whether a field is anything but the star, alone, with the step 1, or in a list.
func isRestricted(field string) bool {
	for _, entry := range strings.Split(field, ",") {
		if entry == "*" || entry == "*/1" {
			return false
		}
	}
	return true
}
