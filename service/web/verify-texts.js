/** What the verifier page says, in English and Spanish. Nothing here is decided, only told. */

/** Texts of the page by name; {0}, {1}, .. are filled in. */
export const TEXTS = {
  en: {
    title: "Check the dice",
    intro:
      "Here your browser checks a game of dice by itself: that nothing in its log was changed, that " +
      "every throw comes from a key committed to before the game, and that every face is the one " +
      "that this key gives. What you paste or drop stays on this device.",
    language: "Language",
    fetch_title: "From this server",
    fetch_label: "Game id, or URL on this server",
    fetch_button: "Fetch and check",
    fetch_off:
      "This copy was opened from a file, so it fetches nothing. Paste a record, or drop one.",
    paste_title: "Or from anywhere",
    paste_label: "Log (JSONL) or audit record",
    paste_button: "Check",
    file_label: "Or choose a file",
    drop_hint: "You can also drop a file anywhere on this page.",
    more_title: "Receipts, public keys, claim (optional)",
    receipts_label: "Receipts that you kept (JSON: one, a list, or one on each line)",
    keys_label: "Public keys that you know (64 hex digits each)",
    claim_label: "The log was presented as",
    claim_none: "not said",
    result_title: "Result",
    working: "Checking: entry {0}",
    reading: "Reading..",
    verdict_ok: "OK. The log agrees with itself and with its dice.",
    verdict_entry: "Refused at entry {0} ({1}): {2}.",
    verdict_record: "Refused in the record around the log ({0}): {1}.",
    facts_title: "What was read",
    source: "Source",
    source_paste: "pasted text",
    source_file: "file {0}",
    source_fetch: "{0}",
    game: "Game",
    unknown: "unknown",
    status: "Status",
    entries: "Entries read without fault",
    throws: "Throws read without fault",
    head: "Hash of the last of these entries",
    fingerprint: "SHA-256 of all that was read",
    agrees: "the browser's own SHA-256 agrees",
    no_webcrypto: "the browser's own SHA-256 is not to be had here, so it was not compared",
    disagrees:
      "The browser's own SHA-256 comes to another result than this page. Trust neither of them: " +
      "check the record on another device.",
    checks_title: "Checks",
    check: "Check",
    result: "Result",
    passed: "passed",
    failed: "failed",
    not_reached: "not reached",
    nothing: "nothing to check",
    throws_title: "Throws",
    no_throws: "No throw was read.",
    throw: "Throw",
    entry: "Entry",
    seat: "Seat",
    table: "table",
    dice: "Dice",
    right: "right",
    wrong: "not what the key gives",
    more_throws: "Show more ({0} left)",
    notes_title: "Notes",
    line_feed_added:
      "the pasted text did not end with one line feed: that was put right before checking",
    nothing_given: "There is nothing to check yet: paste a log or an audit record.",
    too_large: "That has more than {0} MiB, which is more than this page reads.",
    receipts_bad: "The receipts are not JSON: {0}.",
    keys_bad: "A public key is not 64 lowercase hex digits.",
    address_bad: "That is neither a game id nor a URL.",
    other_origin:
      "This page reads from its own server only. Open {0} there, or download the record and drop it " +
      "here.",
    fetch_status: "The server answered with status {0}.",
    fetch_failed: "The server could not be reached.",
    file_failed: "The file could not be read.",
    broken:
      "This page itself has failed, so it says nothing about the record. Try another verifier.",
    footer:
      "The page needs nothing but itself: save it, read its source, open it without a network. It " +
      "judges the dice and the log, not the rules of the game.",
  },
  es: {
    title: "Comprueba los dados",
    intro:
      "Aquí tu navegador comprueba él solo una partida de dados: que nada de su registro ha " +
      "cambiado, que cada tirada sale de una clave comprometida antes de la partida y que cada cara " +
      "es la que da esa clave. Lo que pegues o sueltes no sale de este dispositivo.",
    language: "Idioma",
    fetch_title: "De este servidor",
    fetch_label: "Identificador de la partida, o URL de este servidor",
    fetch_button: "Traer y comprobar",
    fetch_off:
      "Esta copia se abrió desde un archivo y no trae nada de la red. Pega un registro o suéltalo aquí.",
    paste_title: "O de cualquier parte",
    paste_label: "Registro (JSONL) o acta de auditoría",
    paste_button: "Comprobar",
    file_label: "O elige un archivo",
    drop_hint: "También puedes soltar un archivo en cualquier lugar de la página.",
    more_title: "Recibos, claves públicas, estado declarado (opcional)",
    receipts_label: "Recibos que guardaste (JSON: uno, una lista o uno en cada línea)",
    keys_label: "Claves públicas que conoces (64 cifras hexadecimales cada una)",
    claim_label: "El registro se presentó como",
    claim_none: "sin decir",
    result_title: "Resultado",
    working: "Comprobando: entrada {0}",
    reading: "Leyendo..",
    verdict_ok: "Correcto. El registro concuerda consigo mismo y con sus dados.",
    verdict_entry: "Rechazado en la entrada {0} ({1}): {2}.",
    verdict_record: "Rechazada el acta que contiene el registro ({0}): {1}.",
    facts_title: "Lo que se ha leído",
    source: "Origen",
    source_paste: "texto pegado",
    source_file: "archivo {0}",
    source_fetch: "{0}",
    game: "Partida",
    unknown: "desconocida",
    status: "Estado",
    entries: "Entradas leídas sin falta",
    throws: "Tiradas leídas sin falta",
    head: "Hash de la última de esas entradas",
    fingerprint: "SHA-256 de todo lo leído",
    agrees: "el SHA-256 del propio navegador coincide",
    no_webcrypto: "el SHA-256 del propio navegador no está disponible aquí, así que no se comparó",
    disagrees:
      "El SHA-256 del propio navegador da otro resultado que esta página. No te fíes de ninguno: " +
      "comprueba el registro en otro dispositivo.",
    checks_title: "Comprobaciones",
    check: "Comprobación",
    result: "Resultado",
    passed: "superada",
    failed: "fallida",
    not_reached: "no alcanzada",
    nothing: "nada que comprobar",
    throws_title: "Tiradas",
    no_throws: "No se ha leído ninguna tirada.",
    throw: "Tirada",
    entry: "Entrada",
    seat: "Asiento",
    table: "mesa",
    dice: "Dados",
    right: "correcta",
    wrong: "no es lo que da la clave",
    more_throws: "Mostrar más (quedan {0})",
    notes_title: "Notas",
    line_feed_added:
      "el texto pegado no acababa en un salto de línea: se corrigió antes de comprobarlo",
    nothing_given: "Aún no hay nada que comprobar: pega un registro o un acta de auditoría.",
    too_large: "Eso tiene más de {0} MiB, más de lo que lee esta página.",
    receipts_bad: "Los recibos no son JSON: {0}.",
    keys_bad: "Una clave pública no son 64 cifras hexadecimales en minúsculas.",
    address_bad: "Eso no es ni el identificador de una partida ni una URL.",
    other_origin:
      "Esta página solo lee de su propio servidor. Abre {0} allí, o descarga el acta y suéltala aquí.",
    fetch_status: "El servidor respondió con el estado {0}.",
    fetch_failed: "No se pudo llegar al servidor.",
    file_failed: "No se pudo leer el archivo.",
    broken:
      "Ha fallado la propia página, así que no dice nada del acta. Prueba con otro verificador.",
    footer:
      "La página no necesita más que a sí misma: guárdala, lee su código, ábrela sin red. Juzga los " +
      "dados y el registro, no las reglas del juego.",
  },
};

/** The words of the log that stand alone on the page. */
export const WORDS = {
  es: {
    finished: "terminada",
    abandoned: "abandonada",
    void: "anulada",
    incomplete: "incompleta",
    waiting: "en espera",
    playing: "en juego",
    "canonical lines": "líneas canónicas",
    "fields and types": "campos y tipos",
    "game id": "identificador de la partida",
    "hash chain of entries": "cadena de hashes de las entradas",
    "time never decreases": "el tiempo nunca retrocede",
    "life cycle": "ciclo de vida",
    "dice definitions": "definición de los dados",
    "commitment seen by every seat": "compromiso visto por cada asiento",
    "player seeds": "semillas de los jugadores",
    context: "contexto",
    "throw numbers": "números de las tiradas",
    "key chain": "cadena de claves",
    faces: "caras",
    root: "raíz",
    claim: "estado declarado",
    receipts: "recibos",
  },
};

/** The verifier's sentences, each under its English template. */
export const SENTENCES = {
  es: {
    "a face is neither an integer nor a text": "una cara no es ni un entero ni un texto",
    "a weight is not an integer >= 0": "un peso no es un entero >= 0",
    "a die has {0} faces, {1} weights": "un dado tiene {0} caras y {1} pesos",
    "the weights of a die do not add up to 1 .. 2^32 - 1":
      "los pesos de un dado no suman entre 1 y 2^32 - 1",
    "not UTF-8": "no es UTF-8",
    "something stands after the JSON value": "hay algo después del valor JSON",
    "the key {0} is not [a-z][a-z0-9_]*": "la clave {0} no es [a-z][a-z0-9_]*",
    "the key {0} stands twice in one object": "la clave {0} está dos veces en un objeto",
    "more than {0} levels or {1} containers": "más de {0} niveles o {1} contenedores",
    "not JSON at character {0}": "no es JSON en el carácter {0}",
    "a text has no end": "un texto no tiene fin",
    "no value, or a number that is no integer, at character {0}":
      "ningún valor, o un número que no es entero, en el carácter {0}",
    "half of a surrogate pair": "la mitad de un par sustituto",
    "a line of more than {0} bytes": "una línea de más de {0} bytes",
    "the line differs from the canonical rendering of itself":
      "la línea difiere de su propia forma canónica",
    "the last line does not end with a line feed": "la última línea no acaba en un salto de línea",
    "a blank line": "una línea en blanco",
    "{0} is not an object": "{0} no es un objeto",
    "{0} lacks the field {1}": "a {0} le falta el campo {1}",
    "{0} of {1} is not of the type {2}": "{0} de {1} no es del tipo {2}",
    "{0} of {1} is not 64 lowercase hex digits":
      "{0} de {1} no son 64 cifras hexadecimales en minúsculas",
    "the receipt is not a receipt of version 1": "el recibo no es un recibo de la versión 1",
    "a public key is not 64 lowercase hex digits":
      "una clave pública no son 64 cifras hexadecimales en minúsculas",
    "no given public key has the id of receipt {0}":
      "ninguna clave pública dada tiene el identificador del recibo {0}",
    "the signature of receipt {0} is not valid": "la firma del recibo {0} no es válida",
    "mode operator: you trust the operator not to have picked the seed":
      "modo operator: confías en que quien opera el servidor no eligió la semilla",
    "mode practice: the root was public from the start, every throw was foreseeable":
      "modo practice: la raíz fue pública desde el principio, toda tirada se podía prever",
    "entry {0}, {1}: a further field {2}": "entrada {0}, {1}: un campo más, {2}",
    "version {0} is not 1": "la versión {0} no es 1",
    "the entry has a further field {0}": "la entrada tiene un campo más, {0}",
    "{0} is no game id": "{0} no es un identificador de partida",
    "an entry of another game, {0}": "una entrada de otra partida, {0}",
    "seq is {0}, {1} is due": "seq es {0}, toca {1}",
    "prev is not the hash of the entry before": "prev no es el hash de la entrada anterior",
    "the time is before that of the entry before":
      "la hora es anterior a la de la entrada anterior",
    "there is no entry type {0}": "no hay ningún tipo de entrada {0}",
    "an entry after the last one": "una entrada después de la última",
    "{0} belongs to mode sealed only": "{0} es solo del modo sealed",
    "{0} while the game is {1}": "{0} cuando la partida está en {1}",
    "there is no seat {0}": "no hay ningún asiento {0}",
    "there is no seed mode {0}": "no hay ningún modo de semilla {0}",
    "throws_max is not 1..{0}": "throws_max no está en 1..{0}",
    "seats is no possible count of seats": "seats no es un número posible de asientos",
    "turn_seconds is not 5..604800": "turn_seconds no está en 5..604800",
    "a clock acts at a table that has none": "un reloj actúa en una mesa que no lo tiene",
    "the clock acts for no seat": "el reloj no actúa por ningún asiento",
    "the clock resigns for seat {0}": "el reloj abandona por el asiento {0}",
    "the clock acts before the time has run out": "el reloj actúa antes de que se acabe el tiempo",
    "the root is public before the end": "la raíz es pública antes del final",
    "seat {0} is taken": "el asiento {0} está ocupado",
    "kind is neither human nor bot": "kind no es ni human ni bot",
    "seat {0} saw another commitment than that of the game":
      "el asiento {0} vio otro compromiso que el de la partida",
    "seat {0} gives a {1} that is not asked for": "el asiento {0} da un {1} que no se le pide",
    "seat {0} has copied another seat's commit":
      "el asiento {0} ha copiado el compromiso de otro asiento",
    "seat {0} gives a second seed": "el asiento {0} da una segunda semilla",
    "seat {0} is not taken": "el asiento {0} no está ocupado",
    "seat {0} leaves after it gave its seed": "el asiento {0} se va después de dar su semilla",
    "{0} seats, not {1}": "{0} asientos, no {1}",
    "sealed before every seat was taken": "sellada antes de que se ocuparan todos los asientos",
    "sealed although no seat has committed": "sellada aunque ningún asiento se ha comprometido",
    "seat {0} had not committed to a seed":
      "el asiento {0} no se había comprometido con ninguna semilla",
    "seat {0} reveals twice": "el asiento {0} revela dos veces",
    "seat {0} had committed to another seed":
      "el asiento {0} se había comprometido con otra semilla",
    "started before every seat was taken": "empezada antes de que se ocuparan todos los asientos",
    "started before seat {0} revealed its seed":
      "empezada antes de que el asiento {0} revelara su semilla",
    "mode open, but no seat has given its seed":
      "modo open, pero ningún asiento ha dado su semilla",
    "the context is not that of this game, commitment and seeds":
      "el contexto no es el de esta partida, este compromiso y estas semillas",
    "a throw has a die or face of a wrong JSON type":
      "una tirada tiene un dado o una cara de un tipo JSON equivocado",
    "throw {0}, {1} is due": "tirada {0}, toca la {1}",
    "throw {0} is above throws_max": "la tirada {0} pasa de throws_max",
    "throw {0} has {1} dice": "la tirada {0} tiene {1} dados",
    "the die {0} is not defined": "el dado {0} no está definido",
    "the key of throw 1 does not lead to the commitment":
      "la clave de la tirada 1 no lleva al compromiso",
    "the key of throw {0} does not lead to the key of throw {1}":
      "la clave de la tirada {0} no lleva a la clave de la tirada {1}",
    "throw {0} shows {1} faces for {2} dice": "la tirada {0} muestra {1} caras de {2} dados",
    "throw {0}, die {1} shows {2}, the key gives {3}":
      "tirada {0}: el dado {1} muestra {2}, la clave da {3}",
    "the root is not revealed": "la raíz no se revela",
    "the root does not lead to the commitment": "la raíz no lleva al compromiso",
    "presented as {0}, but the game is {1}": "se presentó como {0}, pero la partida está en {1}",
    "the receipt is of another game, {0}": "el recibo es de otra partida, {0}",
    "the log has another entry {0} than the receipt":
      "la entrada {0} del registro no es la del recibo",
    "the receipt proves an entry {0} that is not here":
      "el recibo prueba una entrada {0} que no está aquí",
    "the log is older than the receipt of entry {0}: not compared":
      "el registro es anterior al recibo de la entrada {0}: no se comparó",
    "incomplete: the log has no last entry": "incompleto: al registro le falta la última entrada",
    "the rules were not replayed: actions, events, outcome are not judged here":
      "las reglas no se repitieron: aquí no se juzgan las jugadas, los sucesos ni el resultado",
    "without a receipt, a log that was rewritten as a whole looks the same":
      "sin un recibo, un registro reescrito por completo tiene el mismo aspecto",
    "the log has no entries": "el registro no tiene entradas",
    "receipts were checked with the record's own public keys: compare those":
      "los recibos se comprobaron con las claves públicas de la propia acta: compáralas",
    "the record has a further field {0}": "el acta tiene un campo más, {0}",
    "not a record of {0}": "no es un acta de {0}",
    "its game id, a line or a public key is malformed":
      "su identificador de partida, una línea o una clave pública están mal formados",
  },
};
