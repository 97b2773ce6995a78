extends Node
## What the whole game knows: score, coins, lives, and the language. Autoload [code]Game[/code].

signal score_changed(score: int)
signal coins_changed(coins: int, total: int)
signal lives_changed(lives: int)
## The run is over: the flag was reached, or no life is left.
signal ended(won: bool)

const MAX_LIVES := 3
const COIN_POINTS := 10
const LIFE_POINTS := 100
const LOCALES: Array[String] = ["en", "zh_CN"]

var score := 0:
	set(value):
		score = value
		score_changed.emit(score)

var lives := MAX_LIVES:
	set(value):
		lives = clampi(value, 0, MAX_LIVES)
		lives_changed.emit(lives)

var coins := 0
var coins_total := 0
var is_over := false
## The title is shown once; who plays again goes right ahead.
var was_started := false


## Begins a run in which so many coins can be found.
func begin(total: int) -> void:
	is_over = false
	score = 0
	lives = MAX_LIVES
	coins = 0
	coins_total = total
	coins_changed.emit(coins, coins_total)


func collect_coin() -> void:
	coins += 1
	score += COIN_POINTS
	coins_changed.emit(coins, coins_total)


func lose_life() -> void:
	lives -= 1
	if lives == 0:
		_end(false)


func win() -> void:
	score += lives * LIFE_POINTS
	_end(true)


## Goes on to the next language.
func switch_language() -> void:
	var current := LOCALES.find(TranslationServer.get_locale())
	TranslationServer.set_locale(LOCALES[(current + 1) % LOCALES.size()])


func _end(won: bool) -> void:
	if is_over:
		return
	is_over = true
	ended.emit(won)
