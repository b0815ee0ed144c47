/** What the component says, in three languages; `strings` of an element overrides any of it. */

const en = {
  title: "Notifications",
  bell: { one: "Notifications, {n} unread", other: "Notifications, {n} unread" },
  bellNone: "Notifications, none unread",
  readAll: "Mark all read",
  settings: "Settings",
  back: "Back",
  filters: "Show",
  all: "All",
  unread: "Unread",
  archived: "Archived",
  today: "Today",
  week: "This week",
  earlier: "Earlier",
  fresh: { one: "{n} new", other: "{n} new" },
  arrived: { one: "{n} new notification: {title}", other: "{n} new notifications" },
  now: "now",
  isUnread: "Unread. ",
  markRead: "Mark read",
  markUnread: "Mark unread",
  archive: "Archive",
  and: "{names} and {n} others",
  undo: "Undo",
  doneArchive: "Archived",
  doneReadAll: "All marked read",
  failed: "Not saved: {why}",
  noAnswer: "no answer from the server",
  older: "Older ones load as you scroll",
  end: "That is all",
  retry: "Try again",
  failedList: "The list could not be loaded",
  failedListMore: "{why}. Nothing is lost.",
  emptyAll: "Nothing here yet",
  emptyAllMore: "What concerns you will appear here by itself.",
  emptyUnread: "You are up to date",
  emptyUnreadMore: "Everything has been read.",
  emptyArchived: "Nothing archived",
  emptyArchivedMore: "What you archive leaves the list and is kept here.",
  connecting: "Connecting",
  live: "Live",
  polling: "Looking every {n} s",
  offline: "Offline, showing what was here at {time}",
  offlineNever: "Offline, nothing was loaded yet",
  catchingUp: "Catching up",
  signedOut: "Signed out",
  signedOutMore: "Sign in again to see your notifications.",
  signIn: "Sign in",
  keys: "J and K move, Enter opens, R marks read or unread, E archives, Z undoes",
  reach: "What reaches you, and when",
  category: "Category",
  everything: "Everything",
  inapp: "Inbox",
  email: "Mail",
  push: "Push",
  sms: "SMS",
  webhook: "Hook",
  mandatory: "always on: you need to know",
  channelOff: "off for everything",
  quiet: "Quiet hours",
  quietMore: "Noise waits for their end; nothing is lost",
  from: "from",
  to: "to",
  add: "Add",
  remove: "Remove",
  zone: "Times are of {zone}",
  zoneNone: "Times are of the service's zone",
  zoneUse: "Use {zone}",
  digest: "Mail for {category}",
  digestAt: "Daily mail at",
  instant: "At once",
  hourly: "Once an hour",
  daily: "Once a day",
  atOnce: "Changes are made at once",
  saving: "Saving",
  inForce: "In force since {time}",
  soon: "Saved, in force within moments",
  elsewhere: "Changed elsewhere meanwhile: this is the newest",
};

const de = {
  title: "Mitteilungen",
  bell: { one: "Mitteilungen, {n} ungelesen", other: "Mitteilungen, {n} ungelesen" },
  bellNone: "Mitteilungen, keine ungelesen",
  readAll: "Alle gelesen",
  settings: "Optionen",
  back: "Zurück",
  filters: "Zeigen",
  all: "Alle",
  unread: "Ungelesen",
  archived: "Archiv",
  today: "Heute",
  week: "Diese Woche",
  earlier: "Früher",
  fresh: { one: "{n} neue", other: "{n} neue" },
  arrived: { one: "{n} neue Mitteilung: {title}", other: "{n} neue Mitteilungen" },
  now: "jetzt",
  isUnread: "Ungelesen. ",
  markRead: "Gelesen",
  markUnread: "Ungelesen",
  archive: "Archivieren",
  and: "{names} und {n} weitere",
  undo: "Rückgängig",
  doneArchive: "Archiviert",
  doneReadAll: "Alle als gelesen markiert",
  failed: "Nicht gespeichert: {why}",
  noAnswer: "keine Antwort vom Server",
  older: "Ältere laden beim Scrollen",
  end: "Das ist alles",
  retry: "Nochmals versuchen",
  failedList: "Die Liste ließ sich nicht laden",
  failedListMore: "{why}. Nichts ist verloren.",
  emptyAll: "Noch nichts hier",
  emptyAllMore: "Was Sie betrifft, erscheint hier von selbst.",
  emptyUnread: "Alles gelesen",
  emptyUnreadMore: "Sie sind auf dem neuesten Stand.",
  emptyArchived: "Nichts archiviert",
  emptyArchivedMore: "Was Sie archivieren, verlässt die Liste und bleibt hier.",
  connecting: "Verbindet",
  live: "Live",
  polling: "Schaut alle {n} s nach",
  offline: "Offline, Stand von {time}",
  offlineNever: "Offline, noch nichts geladen",
  catchingUp: "Holt auf",
  signedOut: "Abgemeldet",
  signedOutMore: "Melden Sie sich an, um Ihre Mitteilungen zu sehen.",
  signIn: "Anmelden",
  keys: "J und K bewegen, Enter öffnet, R gelesen oder ungelesen, E archiviert, Z macht rückgängig",
  reach: "Was Sie erreicht, und wann",
  category: "Kategorie",
  everything: "Alles",
  inapp: "Eingang",
  email: "Mail",
  push: "Push",
  sms: "SMS",
  webhook: "Hook",
  mandatory: "immer an: das müssen Sie wissen",
  channelOff: "für alles aus",
  quiet: "Ruhezeiten",
  quietMore: "Was stört, wartet bis zum Ende; nichts geht verloren",
  from: "von",
  to: "bis",
  add: "Hinzufügen",
  remove: "Entfernen",
  zone: "Zeiten gelten in {zone}",
  zoneNone: "Zeiten gelten in der Zone des Dienstes",
  zoneUse: "{zone} nehmen",
  digest: "Mail für {category}",
  digestAt: "Tägliche Mail um",
  instant: "Sofort",
  hourly: "Stündlich",
  daily: "Täglich",
  atOnce: "Änderungen werden gleich übernommen",
  saving: "Speichert",
  inForce: "Gilt seit {time}",
  soon: "Gespeichert, gilt in Kürze",
  elsewhere: "Inzwischen anderswo geändert: das ist der neueste Stand",
};

const fr = {
  title: "Notifications",
  bell: { one: "Notifications, {n} non lue", other: "Notifications, {n} non lues" },
  bellNone: "Notifications, toutes lues",
  readAll: "Tout marquer lu",
  settings: "Réglages",
  back: "Retour",
  filters: "Afficher",
  all: "Toutes",
  unread: "Non lues",
  archived: "Archives",
  today: "Aujourd’hui",
  week: "Cette semaine",
  earlier: "Plus tôt",
  fresh: { one: "{n} nouvelle", other: "{n} nouvelles" },
  arrived: { one: "{n} nouvelle notification : {title}", other: "{n} nouvelles notifications" },
  now: "à l’instant",
  isUnread: "Non lue. ",
  markRead: "Marquer lue",
  markUnread: "Marquer non lue",
  archive: "Archiver",
  and: "{names} et {n} autres",
  undo: "Annuler",
  doneArchive: "Archivée",
  doneReadAll: "Toutes marquées lues",
  failed: "Non enregistré : {why}",
  noAnswer: "le serveur ne répond pas",
  older: "La suite se charge en défilant",
  end: "C’est tout",
  retry: "Réessayer",
  failedList: "La liste n’a pas pu être chargée",
  failedListMore: "{why}. Rien n’est perdu.",
  emptyAll: "Rien pour l’instant",
  emptyAllMore: "Ce qui vous concerne apparaîtra ici tout seul.",
  emptyUnread: "Vous êtes à jour",
  emptyUnreadMore: "Tout a été lu.",
  emptyArchived: "Aucune archive",
  emptyArchivedMore: "Ce que vous archivez quitte la liste et reste ici.",
  connecting: "Connexion",
  live: "En direct",
  polling: "Vérifie toutes les {n} s",
  offline: "Hors ligne, état de {time}",
  offlineNever: "Hors ligne, rien n’a été chargé",
  catchingUp: "Rattrapage",
  signedOut: "Déconnecté",
  signedOutMore: "Reconnectez-vous pour voir vos notifications.",
  signIn: "Se connecter",
  keys: "J et K déplacent, Entrée ouvre, R marque lue ou non lue, E archive, Z annule",
  reach: "Ce qui vous parvient, et quand",
  category: "Catégorie",
  everything: "Tout",
  inapp: "Boîte",
  email: "Mail",
  push: "Push",
  sms: "SMS",
  webhook: "Hook",
  mandatory: "toujours actif : vous devez le savoir",
  channelOff: "coupé pour tout",
  quiet: "Heures calmes",
  quietMore: "Ce qui dérange attend leur fin ; rien n’est perdu",
  from: "de",
  to: "à",
  add: "Ajouter",
  remove: "Retirer",
  zone: "Heures de {zone}",
  zoneNone: "Heures du fuseau du service",
  zoneUse: "Prendre {zone}",
  digest: "Mail pour {category}",
  digestAt: "Mail du jour à",
  instant: "Aussitôt",
  hourly: "Une fois par heure",
  daily: "Une fois par jour",
  atOnce: "Chaque réglage s’applique aussitôt",
  saving: "Enregistrement",
  inForce: "En vigueur depuis {time}",
  soon: "Enregistré, en vigueur sous peu",
  elsewhere: "Modifié ailleurs entre-temps : voici le plus récent",
};

const LANGUAGES = { en, de, fr };
const DAY_MS = 86_400_000;

/** Words and times of one language; a language that is not here speaks English, with its own times. */
export class Words {
  constructor(language, overrides = {}) {
    const [known] = Intl.DateTimeFormat.supportedLocalesOf([language || "en"]);
    this.language = known ?? "en";
    this.spoken = LANGUAGES[this.language.slice(0, 2)] ? this.language.slice(0, 2) : "en";
    this.strings = { ...en, ...LANGUAGES[this.spoken], ...overrides };
    this.plural = new Intl.PluralRules(this.spoken);
    this.number = new Intl.NumberFormat(this.language);
  }

  say(key, values = {}) {
    const found = this.strings[key];
    const text = typeof found === "object" ? (found[this.plural.select(values.n)] ?? found.other) : found;
    return text.replace(/\{(\w+)\}/g, (_, name) => {
      const value = values[name];
      return typeof value === "number" ? this.number.format(value) : (value ?? "");
    });
  }

  /** "Ann, Ben and 3 others". */
  names(actors, others) {
    if (others) return this.say("and", { names: actors.join(", "), n: others });
    return new Intl.ListFormat(this.language).format(actors);
  }

  clock(at, seconds = false) {
    return this.#date(at, { timeStyle: seconds ? "medium" : "short" });
  }

  exact(at) {
    return this.#date(at, { dateStyle: "full", timeStyle: "long" });
  }

  /** "2 min", "1 h", "Tue", "Mar 3". */
  ago(at, now) {
    const minutes = Math.floor((now - at) / 60_000);
    if (minutes < 1) return this.say("now");
    if (minutes < 60) return this.#unit(minutes, "minute");
    if (group(at, now) === 0) return this.#unit(Math.floor(minutes / 60), "hour");
    if (group(at, now) === 1) return this.#date(at, { weekday: "short" });
    const year = new Date(at).getFullYear() === new Date(now).getFullYear() ? undefined : "numeric";
    return this.#date(at, { month: "short", day: "numeric", year });
  }

  #unit(count, unit) {
    return new Intl.NumberFormat(this.language, { style: "unit", unit, unitDisplay: "short" }).format(count);
  }

  #date(at, options) {
    return new Intl.DateTimeFormat(this.language, options).format(at);
  }
}

/** 0 today, 1 within a week, 2 earlier; by the reader's calendar. */
export function group(at, now) {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (at >= midnight) return 0;
  return at >= midnight - 6 * DAY_MS ? 1 : 2;
}
