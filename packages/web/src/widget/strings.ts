/**
 * What the widget says, in the visitor's language. A site may put its own words in place of any.
 *
 * @module
 */

export interface Strings {
  title: string;
  open: string;
  close: string;
  /** Label of the field, and its placeholder. */
  message: string;
  send: string;
  you: string;
  bot: string;
  /** A person who answers. */
  human: string;
  older: string;
  edited: string;
  /** On the visitor's own messages. */
  queued: string;
  sent: string;
  refused: string;
  retry: string;
  discard: string;
  /** How things stand. */
  connecting: string;
  offline: string;
  unavailable: string;
  waiting: string;
  answering: string;
  withHuman: string;
  failed: string;
  /** What was being written is taken back. */
  takenBack: string;
  file: string;
  messages: string;
}

const en: Strings = {
  title: "Chat",
  open: "Open chat",
  close: "Close chat",
  message: "Your message",
  send: "Send",
  you: "You",
  bot: "Answer",
  human: "Answer by a person",
  older: "Show older messages",
  edited: "edited",
  queued: "Waiting to be sent",
  sent: "Sent",
  refused: "Not sent",
  retry: "Try again",
  discard: "Discard",
  connecting: "Connecting…",
  offline: "No connection. What you write is sent as soon as there is one.",
  unavailable: "The chat is not available at the moment.",
  waiting: "Reading…",
  answering: "Writing an answer…",
  withHuman: "A person will answer.",
  failed: "This could not be answered. Please write again.",
  takenBack: "Reading your new message first…",
  file: "File",
  messages: "Conversation",
};

const languages: Record<string, Strings> = {
  en,
  de: {
    title: "Chat",
    open: "Chat öffnen",
    close: "Chat schließen",
    message: "Ihre Nachricht",
    send: "Senden",
    you: "Sie",
    bot: "Antwort",
    human: "Antwort eines Menschen",
    older: "Ältere Nachrichten zeigen",
    edited: "geändert",
    queued: "Wartet auf den Versand",
    sent: "Gesendet",
    refused: "Nicht gesendet",
    retry: "Erneut versuchen",
    discard: "Verwerfen",
    connecting: "Verbindung wird aufgebaut…",
    offline: "Keine Verbindung. Was Sie schreiben, wird gesendet, sobald es wieder eine gibt.",
    unavailable: "Der Chat ist zurzeit nicht verfügbar.",
    waiting: "Wird gelesen…",
    answering: "Antwort wird geschrieben…",
    withHuman: "Ein Mensch wird antworten.",
    failed: "Das konnte nicht beantwortet werden. Bitte schreiben Sie noch einmal.",
    takenBack: "Ihre neue Nachricht wird zuerst gelesen…",
    file: "Datei",
    messages: "Unterhaltung",
  },
  es: {
    title: "Chat",
    open: "Abrir el chat",
    close: "Cerrar el chat",
    message: "Tu mensaje",
    send: "Enviar",
    you: "Tú",
    bot: "Respuesta",
    human: "Respuesta de una persona",
    older: "Mostrar mensajes anteriores",
    edited: "editado",
    queued: "Pendiente de envío",
    sent: "Enviado",
    refused: "No enviado",
    retry: "Reintentar",
    discard: "Descartar",
    connecting: "Conectando…",
    offline: "Sin conexión. Lo que escribas se enviará en cuanto haya una.",
    unavailable: "El chat no está disponible en este momento.",
    waiting: "Leyendo…",
    answering: "Escribiendo una respuesta…",
    withHuman: "Responderá una persona.",
    failed: "No se pudo responder. Escribe de nuevo, por favor.",
    takenBack: "Leyendo primero tu nuevo mensaje…",
    file: "Archivo",
    messages: "Conversación",
  },
  fr: {
    title: "Discussion",
    open: "Ouvrir la discussion",
    close: "Fermer la discussion",
    message: "Votre message",
    send: "Envoyer",
    you: "Vous",
    bot: "Réponse",
    human: "Réponse d’une personne",
    older: "Afficher les messages plus anciens",
    edited: "modifié",
    queued: "En attente d’envoi",
    sent: "Envoyé",
    refused: "Non envoyé",
    retry: "Réessayer",
    discard: "Supprimer",
    connecting: "Connexion…",
    offline: "Pas de connexion. Ce que vous écrivez sera envoyé dès qu’elle sera rétablie.",
    unavailable: "La discussion n’est pas disponible pour le moment.",
    waiting: "Lecture en cours…",
    answering: "Rédaction d’une réponse…",
    withHuman: "Une personne vous répondra.",
    failed: "Aucune réponse n’a pu être donnée. Veuillez écrire à nouveau.",
    takenBack: "Lecture de votre nouveau message d’abord…",
    file: "Fichier",
    messages: "Conversation",
  },
  pt: {
    title: "Chat",
    open: "Abrir o chat",
    close: "Fechar o chat",
    message: "A sua mensagem",
    send: "Enviar",
    you: "Você",
    bot: "Resposta",
    human: "Resposta de uma pessoa",
    older: "Mostrar mensagens anteriores",
    edited: "editada",
    queued: "À espera de envio",
    sent: "Enviada",
    refused: "Não enviada",
    retry: "Tentar de novo",
    discard: "Descartar",
    connecting: "A ligar…",
    offline: "Sem ligação. O que escrever será enviado assim que houver uma.",
    unavailable: "O chat não está disponível de momento.",
    waiting: "A ler…",
    answering: "A escrever uma resposta…",
    withHuman: "Uma pessoa vai responder.",
    failed: "Não foi possível responder. Por favor, escreva de novo.",
    takenBack: "A ler primeiro a sua nova mensagem…",
    file: "Ficheiro",
    messages: "Conversa",
  },
  ar: {
    title: "محادثة",
    open: "فتح المحادثة",
    close: "إغلاق المحادثة",
    message: "رسالتك",
    send: "إرسال",
    you: "أنت",
    bot: "الرد",
    human: "رد من شخص",
    older: "عرض الرسائل الأقدم",
    edited: "معدّلة",
    queued: "في انتظار الإرسال",
    sent: "أُرسلت",
    refused: "لم تُرسل",
    retry: "إعادة المحاولة",
    discard: "تجاهل",
    connecting: "جارٍ الاتصال…",
    offline: "لا يوجد اتصال. سيُرسل ما تكتبه فور عودة الاتصال.",
    unavailable: "المحادثة غير متاحة حاليًا.",
    waiting: "جارٍ القراءة…",
    answering: "جارٍ كتابة الرد…",
    withHuman: "سيرد عليك شخص.",
    failed: "تعذّر الرد على هذا. يُرجى الكتابة مرة أخرى.",
    takenBack: "جارٍ قراءة رسالتك الجديدة أولًا…",
    file: "ملف",
    messages: "المحادثة",
  },
  he: {
    title: "צ׳אט",
    open: "פתיחת הצ׳אט",
    close: "סגירת הצ׳אט",
    message: "ההודעה שלך",
    send: "שליחה",
    you: "אני",
    bot: "תשובה",
    human: "תשובה מאדם",
    older: "הצגת הודעות קודמות",
    edited: "נערכה",
    queued: "ממתינה לשליחה",
    sent: "נשלחה",
    refused: "לא נשלחה",
    retry: "ניסיון נוסף",
    discard: "ביטול",
    connecting: "מתחבר…",
    offline: "אין חיבור. מה שייכתב יישלח ברגע שיהיה חיבור.",
    unavailable: "הצ׳אט אינו זמין כרגע.",
    waiting: "קורא…",
    answering: "כותב תשובה…",
    withHuman: "אדם ישיב לך.",
    failed: "לא ניתן היה להשיב. נא לכתוב שוב.",
    takenBack: "קורא קודם את ההודעה החדשה…",
    file: "קובץ",
    messages: "שיחה",
  },
  ja: {
    title: "チャット",
    open: "チャットを開く",
    close: "チャットを閉じる",
    message: "メッセージ",
    send: "送信",
    you: "あなた",
    bot: "回答",
    human: "担当者からの回答",
    older: "以前のメッセージを表示",
    edited: "編集済み",
    queued: "送信待ち",
    sent: "送信済み",
    refused: "送信できませんでした",
    retry: "再試行",
    discard: "破棄",
    connecting: "接続しています…",
    offline: "接続がありません。書いた内容は接続が戻り次第送信されます。",
    unavailable: "チャットは現在ご利用いただけません。",
    waiting: "読んでいます…",
    answering: "回答を書いています…",
    withHuman: "担当者がお答えします。",
    failed: "回答できませんでした。もう一度お書きください。",
    takenBack: "新しいメッセージを先に読んでいます…",
    file: "ファイル",
    messages: "会話",
  },
  zh: {
    title: "聊天",
    open: "打开聊天",
    close: "关闭聊天",
    message: "您的消息",
    send: "发送",
    you: "您",
    bot: "回复",
    human: "人工回复",
    older: "显示更早的消息",
    edited: "已编辑",
    queued: "等待发送",
    sent: "已发送",
    refused: "未发送",
    retry: "重试",
    discard: "丢弃",
    connecting: "正在连接…",
    offline: "没有网络连接。恢复后会立即发送您写的内容。",
    unavailable: "聊天暂时不可用。",
    waiting: "正在阅读…",
    answering: "正在撰写回复…",
    withHuman: "将由人工回复。",
    failed: "无法回复此消息，请再写一次。",
    takenBack: "先阅读您的新消息…",
    file: "文件",
    messages: "对话",
  },
};

export const languageNames = Object.keys(languages);

/** Scripts that are written from right to left, by language. */
const rightToLeft = new Set(["ar", "he", "fa", "ur", "yi", "dv", "ps"]);

/** The first of the wanted languages that the widget speaks; English, if none. `pt-BR` is `pt`. */
export function languageOf(wanted: readonly string[]): string {
  for (const tag of wanted) {
    const [language = ""] = tag.toLowerCase().split(/[-_]/);
    if (Object.hasOwn(languages, language)) return language;
  }
  return "en";
}

/** `own`: the site's words, in place of ours. */
export function stringsOf(language: string, own: Partial<Strings> = {}): Strings {
  return { ...en, ...languages[language], ...own };
}

export function directionOf(language: string): "ltr" | "rtl" {
  return rightToLeft.has(language) ? "rtl" : "ltr";
}
