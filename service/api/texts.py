"""What refusals say, in Spanish and English: by problem, by field code, by reason."""

from collections.abc import Mapping
from typing import Final

from service.rules.base import Text

PROBLEMS: Final[Mapping[str, tuple[Text, Text]]] = {
    "malformed_request": (
        Text("Petición mal formada", "Malformed request"),
        Text(
            "La petición no es HTTP como lo lee este servidor, con una cabecera Host y solo una.",
            "The request is not HTTP as this server reads it, with one Host header, and only one.",
        ),
    ),
    "unreadable_body": (
        Text("Cuerpo ilegible", "Unreadable body"),
        Text("El cuerpo no se puede leer.", "The body can't be read."),
    ),
    "precondition_malformed": (
        Text("If-Match mal formado", "Malformed If-Match"),
        Text(
            'If-Match debe llevar una sola versión fuerte, como "7".',
            'If-Match must hold one strong version, such as "7".',
        ),
    ),
    "token_missing": (
        Text("Falta la credencial", "Token missing"),
        Text(
            "Envía Authorization: Bearer con la credencial de tu asiento o del anfitrión.",
            "Send Authorization: Bearer with the token of your seat or of the host.",
        ),
    ),
    "token_unknown": (
        Text("Credencial desconocida", "Token unknown"),
        Text("Esta credencial no pertenece a la partida.", "This token is none of the game's."),
    ),
    "not_your_seat": (
        Text("No es tu asiento", "Not your seat"),
        Text("La credencial no actúa por ese asiento.", "The token does not act for that seat."),
    ),
    "host_only": (
        Text("Solo el anfitrión", "Host only"),
        Text(
            "Solo la credencial del anfitrión puede hacer esto.",
            "Only the host's token may do this.",
        ),
    ),
    "not_found": (
        Text("No existe", "Not found"),
        Text("Aquí no hay ningún recurso.", "There is no resource here."),
    ),
    "game_not_found": (
        Text("La partida no existe", "Game not found"),
        Text("Ninguna partida tiene este identificador.", "No game has this id."),
    ),
    "ruleset_not_found": (
        Text("El juego no existe", "Ruleset not found"),
        Text(
            "Ningún reglamento tiene esta clave; mira /v1/rulesets.",
            "No ruleset has this key; see /v1/rulesets.",
        ),
    ),
    "seat_not_found": (
        Text("El asiento no existe", "Seat not found"),
        Text("La partida no tiene ese asiento ocupado.", "The game has no such seat taken."),
    ),
    "series_not_found": (
        Text("La serie no existe", "Series not found"),
        Text("Ninguna serie tiene este identificador.", "No series has this id."),
    ),
    "version_not_found": (
        Text("La versión no existe", "Version not found"),
        Text("La partida no ha llegado a esa versión.", "The game has not come to this version."),
    ),
    "method_not_allowed": (
        Text("Método no admitido", "Method not allowed"),
        Text("El recurso no admite este método.", "The resource does not take this method."),
    ),
    "not_your_turn": (
        Text("No te toca", "Not your turn"),
        Text("La partida espera a otro asiento.", "The game waits for another seat."),
    ),
    "illegal_action": (
        Text("Jugada no permitida", "Illegal action"),
        Text("Esa jugada no se puede hacer ahora.", "This action can't be taken now."),
    ),
    "turn_expired": (
        Text("Se acabó el tiempo", "Time is up"),
        Text(
            "La jugada llegó después de su plazo: la mesa ha jugado por ese asiento.",
            "The action came after its deadline: the table has acted for the seat.",
        ),
    ),
    "request_timeout": (
        Text("Petición incompleta", "Request timeout"),
        Text(
            "La petición no ha llegado entera a tiempo.",
            "The request did not come whole in time.",
        ),
    ),
    "game_over": (
        Text("La partida ha terminado", "Game over"),
        Text("La partida ya ha terminado.", "The game has ended."),
    ),
    "game_not_over": (
        Text("La partida no ha terminado", "Game not over"),
        Text(
            "La revancha llega cuando la partida termina.", "A rematch comes when the game is over."
        ),
    ),
    "game_not_started": (
        Text("La partida no ha empezado", "Game not started"),
        Text("La partida aún no ha empezado.", "The game has not started yet."),
    ),
    "game_started": (
        Text("La partida ya ha empezado", "Game started"),
        Text(
            "Esto solo se puede hacer antes de empezar.", "This can be done before the start only."
        ),
    ),
    "seats_open": (
        Text("Quedan asientos libres", "Seats open"),
        Text(
            "La partida empieza cuando todos los asientos están ocupados.",
            "The game starts when all seats are taken.",
        ),
    ),
    "seat_taken": (
        Text("Asiento ocupado", "Seat taken"),
        Text("Otra persona ocupa ese asiento.", "Somebody else holds that seat."),
    ),
    "game_full": (
        Text("Partida completa", "Game full"),
        Text("No quedan asientos libres.", "No seat is open."),
    ),
    "name_taken": (
        Text("Nombre ocupado", "Name taken"),
        Text(
            "Otro jugador de la partida se llama igual, o casi.",
            "Another player of the game has this name, or one that looks the same.",
        ),
    ),
    "rematch_exists": (
        Text("La revancha ya existe", "Rematch exists"),
        Text("Esta partida ya tiene su revancha.", "This game already has its rematch."),
    ),
    "roster_exhausted": (
        Text("Demasiadas entradas y salidas", "Roster exhausted"),
        Text(
            "Demasiada gente ha entrado y salido de esta partida antes de empezar.",
            "Too many have come and gone in this game before its start.",
        ),
    ),
    "seeds_missing": (
        Text("Faltan semillas", "Seeds missing"),
        Text(
            "La partida empieza cuando está sellada y todas las semillas se han revelado.",
            "The game starts when it is sealed and every seed is revealed.",
        ),
    ),
    "seed_refused": (
        Text("Semilla rechazada", "Seed refused"),
        Text(
            "El modo de semillas de la partida no lo admite ahora.",
            "The game's seed mode does not take this now.",
        ),
    ),
    "game_frozen": (
        Text("Partida congelada", "Game frozen"),
        Text(
            "El registro de la partida no superó una auditoría; el operador debe revisarlo.",
            "The game's log failed an audit; its operator has to look at it.",
        ),
    ),
    "stale_version": (
        Text("Versión anticuada", "Stale version"),
        Text(
            "La partida ha cambiado desde la versión que conoces.",
            "The game has moved on from the version that you know.",
        ),
    ),
    "body_too_large": (
        Text("Cuerpo demasiado grande", "Body too large"),
        Text("El cuerpo es mayor de lo admitido.", "The body is larger than this server takes."),
    ),
    "target_too_long": (
        Text("Dirección demasiado larga", "Target too long"),
        Text(
            "La dirección es más larga de lo admitido.",
            "The address is longer than this server takes.",
        ),
    ),
    "unsupported_media_type": (
        Text("Tipo de contenido no admitido", "Unsupported media type"),
        Text(
            "Envía application/json en UTF-8, sin comprimir.",
            "Send application/json in UTF-8, not compressed.",
        ),
    ),
    "misdirected_request": (
        Text("Servidor equivocado", "Misdirected request"),
        Text(
            "Este servidor no responde por ese nombre.",
            "The server does not answer for this host.",
        ),
    ),
    "invalid_input": (
        Text("Datos no válidos", "Invalid input"),
        Text("Algún campo no es válido; mira errors.", "A field is wrong; see errors."),
    ),
    "record_too_costly": (
        Text("Examen demasiado costoso", "Record too costly"),
        Text(
            "Examinar este registro cuesta más de lo que el servidor dedica a uno.",
            "Examining this record takes more than the server gives to one.",
        ),
    ),
    "key_reused": (
        Text("Idempotency-Key ya usada", "Idempotency-Key reused"),
        Text("Esta clave ya se usó con otra petición.", "This key was used with another request."),
    ),
    "precondition_missing": (
        Text("Falta una condición", "Precondition missing"),
        Text(
            "Este servidor exige Idempotency-Key, y en las jugadas If-Match.",
            "This server demands Idempotency-Key, and If-Match for actions.",
        ),
    ),
    "rate_limited": (
        Text("Demasiadas peticiones", "Too many requests"),
        Text(
            "Hay demasiadas peticiones; espera lo que dice Retry-After.",
            "There are too many requests; wait as long as Retry-After says.",
        ),
    ),
    "too_many_waiting": (
        Text("Demasiadas partidas en espera", "Too many games waiting"),
        Text(
            "Hay demasiadas partidas tuyas sin empezar.",
            "Too many of your games have not started.",
        ),
    ),
    "headers_too_large": (
        Text("Cabeceras demasiado grandes", "Headers too large"),
        Text(
            "Las cabeceras son más o mayores de lo admitido.",
            "The headers are more or longer than this server takes.",
        ),
    ),
    "internal": (
        Text("Error del servidor", "Internal error"),
        Text(
            "Ha fallado algo en el servidor; repetir con la misma clave es seguro.",
            "Something failed in the server; a retry with the same key is safe.",
        ),
    ),
    "unavailable": (
        Text("Servidor ocupado", "Unavailable"),
        Text(
            "El servidor no puede responder ahora. Repite con la misma Idempotency-Key; sin clave, "
            "mira antes la partida.",
            "The server can't answer now. Send it again with the same Idempotency-Key; without a "
            "key, look at the game first.",
        ),
    ),
}

READING: Final[Mapping[str, Text]] = {
    "not_json": Text("El cuerpo no es JSON.", "The body is not JSON."),
    "invalid_utf8": Text("El cuerpo no es UTF-8.", "The body is not UTF-8."),
    "too_deep": Text("El JSON está anidado más de 16 veces.", "The JSON is nested deeper than 16."),
    "duplicate_key": Text("Una clave aparece dos veces.", "A key appears twice."),
    "number_out_of_range": Text("Un número pasa de 2^53 - 1.", "A number lies beyond 2^53 - 1."),
    "forbidden_character": Text(
        "Un texto lleva caracteres de control o sustitutos sueltos.",
        "A text holds control characters or lone surrogates.",
    ),
}

SEEDS: Final[Mapping[str, Text]] = {
    "not_in_seed_mode": Text(
        "Este modo de semillas no lo pide.", "The game's seed mode does not ask for this."
    ),
    "second_seed": Text(
        "Otro asiento ya dio su semilla; quien da la segunda podría elegir los dados.",
        "Another seat has given its seed; whoever gives a second one could choose the dice.",
    ),
    "seed_missing": Text(
        "El último asiento debe dar la semilla que falta.",
        "The last seat has to give the seed that is missing.",
    ),
    "copied_commit": Text(
        "Otro asiento ya se comprometió con lo mismo.", "Another seat has this very commit."
    ),
    "seed_given": Text("Este asiento ya dio su semilla.", "This seat has given its seed."),
    "no_commit": Text("Nadie se ha comprometido aquí.", "There is no commit here."),
    "not_sealed": Text("La partida aún no está sellada.", "The game is not sealed yet."),
    "sealed": Text("La partida ya está sellada.", "The game is sealed already."),
    "not_the_seed": Text("No es la semilla comprometida.", "This is not the seed committed to."),
}

FIELDS: Final[Mapping[str, Text]] = {
    "missing": Text("Falta este campo.", "This field is missing."),
    "unknown_field": Text("Hay un campo desconocido.", "There is an unknown field."),
    "wrong_type": Text("El tipo JSON no es el debido.", "The JSON type is not the right one."),
    "wrong_form": Text("El valor no tiene la forma debida.", "The value has not the right form."),
    "not_allowed": Text("El valor no es uno de los posibles.", "The value is none of the choices."),
    "repeated": Text("El parámetro aparece dos veces.", "The parameter appears twice."),
    "practice_only": Text("Solo en partidas de práctica.", "In practice games only."),
    "not_the_commitment": Text(
        "No es el compromiso de esta partida.", "Not the commitment of this game."
    ),
    "not_the_kept_seat": Text(
        "Esta credencial tiene reservado otro asiento: deja antes ese.",
        "This token keeps another seat: leave that one first.",
    ),
    "above_bankroll": Text(
        "Nadie tiene tantas fichas: son {limit}.", "Nobody holds that much: {limit} chips."
    ),
    "name_or_bot": Text(
        "Un asiento es de una persona (name) o de un bot (bot), no de ambos.",
        "A seat is a person's (name) or a bot's (bot), not both.",
    ),
    "needs_person": Text(
        "Al menos un asiento ha de quedar para una persona.",
        "At least one seat has to be left to a person.",
    ),
    "bot_option": Text(
        "Este bot no juega con ese valor de la opción {option}.",
        "This bot does not play with that value of the option {option}.",
    ),
    "bot_seats": Text(
        "Este bot solo juega en mesas de {limit} asientos.",
        "This bot plays at tables with {limit} seats only.",
    ),
    "needs_rounds": Text(
        "Solo si la partida acaba por rondas (end: rounds).",
        "Only where the game ends by rounds (end: rounds).",
    ),
    "needs_three_dice": Text("Esa regla pide tres dados.", "That rule needs three dice."),
    "needs_three_seats": Text(
        "Ese formato pide tres asientos o más.", "That format needs three seats or more."
    ),
    "needs_two_seats": Text("Ese formato pide dos asientos.", "That format needs two seats."),
    "too_small": Text("El mínimo es {limit}.", "The least is {limit}."),
    "too_large": Text("El máximo es {limit}.", "The most is {limit}."),
    "too_short": Text("Son al menos {limit}.", "At least {limit} are needed."),
    "too_long": Text("Son como mucho {limit}.", "At most {limit} are allowed."),
    "texts_too_long": Text(
        "Todos los textos juntos tienen como mucho {limit} caracteres.",
        "All texts together have at most {limit} characters.",
    ),
}

# Why an action is illegal, by the reason codes of the rulesets.
REASONS: Final[Mapping[str, Text]] = {
    "above_chips": Text("Son más fichas de las que tienes.", "That is more chips than you have."),
    "above_cover": Text(
        "La banca no podría pagar esa apuesta.", "The bank could not pay that bet."
    ),
    "above_limit": Text("La apuesta pasa del límite.", "The bet is above the limit."),
    "above_maximum": Text("La cantidad es demasiado alta.", "The amount is too high."),
    "already_resolved": Text("La ronda ya está resuelta.", "The round has been resolved already."),
    "already_rolled": Text(
        "Los dados de esta ronda ya están en la mesa.",
        "The dice of this round are on the table already.",
    ),
    "below_minimum": Text("La cantidad es demasiado baja.", "The amount is too low."),
    "cannot_pay": Text(
        "No tienes fichas para esta apuesta: solo puedes pasar.",
        "You have too few chips for this bet: you can only pass.",
    ),
    "choices_open": Text("Alguien no ha elegido todavía.", "Somebody has not chosen yet."),
    "host_resolves": Text(
        "En esta mesa resuelve el anfitrión.", "At this table the host resolves the round."
    ),
    "mask_length": Text(
        "Hay que decir de cada dado si se repite.",
        "The mask needs one flag for each die.",
    ),
    "must_bet": Text("Quien abre la apuesta tiene que apostar.", "Who opens the bet has to bet."),
    "must_break_tie": Text(
        "Primero hay que deshacer el empate.", "The tie has to be broken first."
    ),
    "must_roll": Text("Un doble obliga a tirar otra vez.", "A double forces another throw: roll."),
    "no_reroll": Text(
        "En esta partida no se repiten dados.", "In this game no dice are thrown again."
    ),
    "no_tie": Text("Nadie ha empatado.", "Nobody is tied."),
    "not_in_phase": Text(
        "La partida espera otra clase de jugada.", "The game waits for another kind of action."
    ),
    "not_in_ruleset": Text("Este juego no tiene esa jugada.", "This game has no such action."),
    "not_now": Text("Esa jugada no se puede hacer ahora.", "This action can't be taken now."),
    "nothing_rolled": Text("Antes hay que tirar.", "Nothing has been rolled yet: roll first."),
    "out_of_the_game": Text(
        "El asiento ya no juega esta partida.", "The seat is no longer in the game."
    ),
    "resolves_itself": Text(
        "La ronda se resuelve sola con la última elección.",
        "The round is resolved by the last choice.",
    ),
}
