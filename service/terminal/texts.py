"""What the terminal says, in Spanish and English: commands, events, the table, the end."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from service.rules.base import Text

Language: TypeAlias = Literal["es", "en"]


def spoken(language: Language, text: Text) -> str:
    """The text in this language."""
    return text.es if language == "es" else text.en


# The word that a player types for a kind of action, and what it does.
ACTIONS: Final[Mapping[str, tuple[Text, Text]]] = {
    "roll": (Text("tirar", "roll"), Text("tirar los dados", "throw the dice")),
    "hold": (
        Text("plantarse", "hold"),
        Text("anotar el turno, o no repetir dados", "bank the turn, or keep all dice"),
    ),
    "reroll": (
        Text("repetir", "reroll"),
        Text("repetir 1 3: tirar otra vez los dados 1 y 3", "reroll 1 3: throw dice 1 and 3 again"),
    ),
    "tiebreak": (
        Text("desempatar", "tiebreak"),
        Text("tirar por quienes han empatado", "throw for those who are tied"),
    ),
    "bet": (Text("apostar", "bet"), Text("apostar 5: apostar 5 fichas", "bet 5: stake 5 chips")),
    "pass": (Text("pasar", "pass"), Text("no apostar esta vez", "sit this bet out")),
    "set_limit": (
        Text("límite", "limit"),
        Text("límite 20: que nadie apueste más de 20", "limit 20: nobody bets more than 20"),
    ),
    "resolve": (
        Text("resolver", "resolve"),
        Text("tirar los dados marcados y comparar", "throw the marked dice and compare"),
    ),
    "resign": (
        Text("abandonar", "resign"),
        Text("dejar la partida (la palabra entera)", "leave the game (the whole word)"),
    ),
}
HELP: Final = Text("ayuda", "help")
QUIT: Final = Text("salir", "quit")

PHRASES: Final[Mapping[str, Text]] = {
    "table": Text("La mesa", "The table"),
    "seat": Text("Jugador {number}", "Player {number}"),
    "opened": Text("{title}: {names}", "{title}: {names}"),
    "commitment": Text("Compromiso: {commitment}", "Commitment: {commitment}"),
    "practice": Text(
        "Partida de práctica: la semilla se conoce y los dados se pueden prever.",
        "A practice game: its seed is known, and the dice can be foreseen.",
    ),
    "ask_help": Text("? ayuda, salir", "? for help, quit to leave"),
    "help_actions": Text("Jugadas (basta el principio):", "Actions (the first letters do):"),
    "help_others": Text(
        "NOMBRE: jugada   otro jugador hace algo, si puede",
        "NAME: action   another player does something, if they may",
    ),
    "help_end": Text("? esta ayuda; salir deja la partida", "? this help; quit leaves the game"),
    "won": Text("Gana {names}: {reason}.", "{names} wins: {reason}."),
    "shared": Text("Ganan {names}: {reason}.", "{names} win: {reason}."),
    "abandoned": Text("La partida queda sin acabar.", "The game is left unfinished."),
    "scores": Text("Puntos: {values}.", "Scores: {values}."),
    "chips": Text("Fichas: {values}.", "Chips: {values}."),
    "root": Text("Raíz: {root}", "Root: {root}"),
    "saved": Text(
        "Registro guardado en {path}; compruébalo: cubilete verify {path}",
        "Log saved in {path}; check it: cubilete verify {path}",
    ),
    "not_understood": Text("No lo entiendo. Puedes: {choices}.", "Not understood. Try: {choices}."),
    "which": Text("¿Cuál: {choices}?", "Which one: {choices}?"),
    "which_player": Text("¿Quién? {names}.", "Who? {names}."),
    "needs_amount": Text(
        "Di cuánto, como en «{word} {least}».", "Say how much, as in “{word} {least}”."
    ),
    "needs_dice": Text(
        "Di qué dados, de 1 a {dice}, como en «{word} 1».",
        "Say which dice, 1 to {dice}, as in “{word} 1”.",
    ),
    "nothing_after": Text("«{word}» va sin nada detrás.", "“{word}” takes nothing after it."),
}

# Labels of the view's fields, in the order in which they are shown.
LABELS: Final[Mapping[str, Text]] = {
    "round": Text("ronda", "round"),
    "scores": Text("puntos", "score"),
    "wins": Text("rondas apuntadas", "rounds taken"),
    "chips": Text("fichas", "chips"),
    "pot": Text("bote", "pot"),
    "bets": Text("apuestas", "bets"),
    "turn_totals": Text("turnos", "turns"),
    "turn_total": Text("turno", "turn total"),
    "banker": Text("banca", "bank"),
    "limit": Text("límite", "limit"),
    "mark": Text("marca", "mark"),
    "tied": Text("empate", "tied"),
    "last_round": Text("última ronda", "last round"),
    "playoff": Text("desempate", "playoff"),
    "out": Text("fuera", "out"),
}

REASONS: Final[Mapping[str, Text]] = {
    "target_reached": Text("ha llegado a la meta", "reached the target"),
    "last_round": Text("más puntos tras la última ronda", "most points after the last round"),
    "playoff": Text("por desempate", "after a playoff"),
    "bets_played": Text("se han jugado todas las apuestas", "all bets are played"),
    "circuits_played": Text("la banca ha dado la vuelta", "the bank has gone round the table"),
    "rounds_played": Text("se han jugado todas las rondas", "all rounds are played"),
    "rounds_won": Text("por rondas ganadas", "by rounds won"),
    "rounds_lost": Text("alguien ha perdido demasiadas rondas", "somebody lost too many rounds"),
    "last_seat": Text("nadie más queda en la partida", "nobody else is left"),
    "no_chips": Text("faltan fichas para seguir", "too few chips to play on"),
    "throws_exhausted": Text("no quedan tiradas", "no throws are left"),
}

# Events by kind, or by kind and variant (see ``telling``). An empty text is not told: another
# line says the same.
EVENTS: Final[Mapping[str, Text]] = {
    # who starts
    "rolled_off": Text("Por salir: {sums}.", "For the start: {sums}."),
    "starter_chosen": Text("Empieza {seat}.", "{seat} starts."),
    # turns
    "turn_started": Text("Le toca a {seat}.", "{seat}'s turn."),
    "rolled": Text(
        "{seat}: +{points}, lleva {turn_total}.", "{seat}: +{points}, turn total {turn_total}."
    ),
    "rolled/forced": Text(
        "{seat}: +{points}, lleva {turn_total}, y tiene que tirar otra vez.",
        "{seat}: +{points}, turn total {turn_total}, and must throw again.",
    ),
    "rolled/nothing": Text("", ""),
    "banked": Text(
        "{seat} se planta: +{points}, tiene {score}.", "{seat} banks {points}: score {score}."
    ),
    "busted": Text("{seat} pierde el turno ({lost}).", "Bust: {seat} loses the turn ({lost})."),
    "busted/cry": Text(
        "¡{cry} {seat} pierde el turno ({lost}).", "{cry} {seat} loses the turn ({lost})."
    ),
    "score_lost": Text("{seat} pierde sus {lost} puntos.", "{seat} loses all {lost} points."),
    "knocked_out": Text("{seat} queda fuera.", "{seat} is out."),
    "last_round_started": Text(
        "{seat} llega a la meta: última ronda.", "{seat} reaches the target: last round."
    ),
    "playoff_started": Text("Desempate: {seats}.", "Playoff: {seats}."),
    "resigned": Text("{seat} abandona.", "{seat} resigns."),
    "game_won": Text("", ""),
    # bets and pot
    "bet_opened": Text("Apuesta {round}: empieza {seat}.", "Bet {round}: {seat} begins."),
    "bet_placed": Text("{seat} apuesta {amount}.", "{seat} bets {amount}."),
    "passed": Text("{seat} pasa.", "{seat} passes."),
    "bet_lost": Text("{seat} pierde su apuesta.", "{seat} loses the bet."),
    "stakes_returned": Text("Vuelven las apuestas: {amounts}.", "Bets go back: {amounts}."),
    "pot_won": Text("{seat} se lleva el bote: {amount}.", "{seat} takes the pot: {amount}."),
    "pot_shared": Text("Se reparten el bote: {amounts}.", "The pot is shared: {amounts}."),
    "pot_carried": Text("El bote queda: {amount}.", "The pot stays: {amount}."),
    # the bank
    "round_started": Text(
        "Ronda {round}: banca de {banker}.", "Round {round}: {banker} has the bank."
    ),
    "limit_set": Text("{seat} pone el límite en {amount}.", "{seat} sets the limit: {amount}."),
    "covered": Text("La banca cubre: {amounts}.", "The bank covers {amounts}."),
    "covered/returned": Text(
        "La banca cubre: {amounts}; vuelve: {returned}.",
        "The bank covers {amounts}; back goes {returned}.",
    ),
    "covered/nothing": Text("", ""),
    "mark_set": Text("La marca de {seat}: {figure}.", "{seat}'s mark: {figure}."),
    "rolled/counts": Text("{seat}: {figure}.", "{seat}: {figure}."),
    "rolled/void": Text(
        "{seat}: {figure}, de la otra serie; no vale, tira otra vez.",
        "{seat}: {figure}, the other series; it does not count, throw again.",
    ),
    "settled/won": Text("{seat} gana {stake}.", "{seat} wins {stake}."),
    "settled/lost": Text("{seat} pierde {stake}.", "{seat} loses {stake}."),
    "settled/even": Text("{seat} recupera {stake}.", "{seat} takes {stake} back."),
    "bets_returned": Text("Vuelven las apuestas: {amounts}.", "Bets go back: {amounts}."),
    "round_ended": Text("Fin de la ronda {round}: {results}.", "Round {round} ends: {results}."),
    "round_ended/nothing": Text("Fin de la ronda {round}.", "Round {round} ends."),
    "bank_passed": Text("La banca pasa a {to}.", "The bank passes to {to}."),
    "game_ended": Text("", ""),
    # the duel
    "table_rolled": Text("Ronda {round}.", "Round {round}."),
    "chose": Text("{seat} marca {mask}.", "{seat} marks {mask}."),
    "chose/keeps": Text("{seat} se queda con todos.", "{seat} keeps all dice."),
    "resolved": Text("Se comparan: {faces}.", "Compared: {faces}."),
    "tied": Text("Empate: {seats}.", "A tie: {seats}."),
    "tiebreak_rolled": Text("Desempate: {faces}.", "Tie-break: {faces}."),
    "round_won": Text("{seat} gana la ronda ({wins}).", "{seat} wins the round ({wins})."),
    "round_lost": Text("{seat} pierde la ronda ({losses}).", "{seat} loses the round ({losses})."),
    "penalty_drawn": Text("A {seat} le toca: {text}", "{seat} draws: {text}"),
}

# What the faces of a die are called that has no numbers.
FACES: Final[Mapping[str, Text]] = {
    "dot_up": Text("lunar arriba", "dot up"),
    "dot_down": Text("lunar abajo", "dot down"),
    "trotter": Text("de pie", "trotter"),
    "razorback": Text("panza arriba", "razorback"),
    "snouter": Text("de morro", "snouter"),
    "leaning_jowler": Text("de carrillo", "leaning jowler"),
}

# What stops the command before the game, told in one line.
WRONG: Final[Mapping[str, Text]] = {
    "ruleset": Text(
        "no hay juego {key}; hay {keys}", "there is no ruleset {key}; there are {keys}"
    ),
    "option_form": Text(
        "--option {given}: se escribe nombre=valor", "--option {given}: write name=value"
    ),
    "option_twice": Text("--option {name}: aparece dos veces", "--option {name}: given twice"),
    "option_name": Text(
        "--option {name}: {key} no tiene esa opción; tiene {names}",
        "--option {name}: {key} has no such option; it has {names}",
    ),
    "option": Text("--option {name}: {detail}", "--option {name}: {detail}"),
    "seats": Text("--player: {detail}", "--player: {detail}"),
    "name": Text(
        "--player: un nombre tiene de 1 a 40 caracteres visibles",
        "--player: a name has 1 to 40 visible characters",
    ),
    "names": Text(
        "--player: dos nombres son iguales, o casi",
        "--player: two names are the same, or look the same",
    ),
    "seed": Text(
        "--seed: son 64 cifras hexadecimales en minúscula",
        "--seed: 64 lowercase hex digits are needed",
    ),
    "log": Text("--log {path}: {detail}", "--log {path}: {detail}"),
    "language": Text("--language: es o en", "--language: es or en"),
}
