// Generated from the server's OpenAPI document by `make typescript`. Do not edit.

export interface paths {
    "/v1/record": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Append messages to a session
         * @description Append messages to a session. They are durable, and visible to the next read, when this answers.
         */
        post: operations["record"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/recall": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Return the turns, memories and episodes that are relevant to a question, each with an explanation
         * @description Return the turns, memories and episodes that are relevant to a question, each with an explanation.
         */
        post: operations["recall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/recall/many": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer several questions at once, in their order
         * @description Answer several questions at once, in their order.
         */
        post: operations["recall_many"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Return text for a prompt within a token budget: terms, memories, episodes, recalled turns and recent turns
         * @description Return text for a prompt within a token budget: terms, memories, episodes, recalled turns and recent turns.
         */
        post: operations["context"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Return what terms mean: in this session, to the user, in the project, in its ontology
         * @description Return what terms mean: in this session, to the user, in the project, in its ontology.
         */
        post: operations["resolve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/learn": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Remember what a person states explicitly
         * @description Remember what a person states explicitly.
         */
        post: operations["learn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/correct": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Give a memory a new value; the old one ends and stays in the history
         * @description Give a memory a new value; the old one ends and stays in the history.
         */
        post: operations["correct"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Erase a memory, a session or a whole user, with everything derived; the receipt counts the rows per table
         * @description Erase a memory, a session or a whole user, with everything derived; the receipt counts the rows per table.
         */
        post: operations["forget"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Return the last turns of a session, oldest first; `next_before` pages backwards
         * @description Return the last turns of a session, oldest first; `next_before` pages backwards.
         */
        get: operations["history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/explain/{request_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Return what a past recall or context found, and why, with the history of each memory
         * @description Return what a past recall or context found, and why, with the history of each memory.
         */
        get: operations["explain"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export everything stored about a user, as JSON lines
         * @description Export everything stored about a user, as JSON lines.
         */
        get: operations["export"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/chat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message to an assistant that remembers
         * @description Send a message to an assistant that remembers. The message and the reply are recorded.
         */
        post: operations["chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/chat/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a user's conversations, the latest first
         * @description List a user's conversations, the latest first.
         */
        get: operations["chat_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/chat/sessions/{session_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a conversation, oldest turn first, with what was recalled for each reply; `next_before` pages backwards
         * @description Show a conversation, oldest turn first, with what was recalled for each reply; `next_before` pages backwards.
         */
        get: operations["chat_session"];
        put?: never;
        post?: never;
        /**
         * Erase a conversation with everything derived from it; the receipt counts the rows per table
         * @description Erase a conversation with everything derived from it; the receipt counts the rows per table.
         */
        delete: operations["delete_chat_session"];
        options?: never;
        head?: never;
        /**
         * Give a conversation another name than its first question
         * @description Give a conversation another name than its first question.
         */
        patch: operations["rename_chat_session"];
        trace?: never;
    };
    "/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Complete a chat as OpenAI does, with what is remembered of the user
         * @description Complete a chat as OpenAI does, with what is remembered of the user. The request is forwarded to the language
         *     model's server; the messages are recorded.
         */
        post: operations["complete_chat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the models of the language model's server
         * @description List the models of the language model's server.
         */
        get: operations["list_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List memories, the most important first, page by page; ended ones with `all=true` or their status
         * @description List memories, the most important first, page by page; ended ones with `all=true` or their status.
         */
        get: operations["memories"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory}/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End a memory: a todo is done, a decision no longer stands
         * @description End a memory: a todo is done, a decision no longer stands.
         */
        post: operations["close"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory}/promote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a user's memory the project's; for admins
         * @description Make a user's memory the project's; for admins.
         */
        post: operations["promote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve a pending memory: it counts from now on; for admins
         * @description Approve a pending memory: it counts from now on; for admins.
         */
        post: operations["approve"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject a pending memory; for admins
         * @description Reject a pending memory; for admins.
         */
        post: operations["reject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memories/{memory}/redact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Blank a value everywhere, also in the turns it was said in; the audit log stays
         * @description Blank a value everywhere, also in the turns it was said in; the audit log stays.
         */
        post: operations["redact"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/episodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List summaries of older turns, oldest first
         * @description List summaries of older turns, oldest first.
         */
        get: operations["episodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/mark": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Mark a turn as of high value: it is always embedded, and ranks higher
         * @description Mark a turn as of high value: it is always embedded, and ranks higher.
         */
        post: operations["mark"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rejections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count what was not remembered, by reason
         * @description Count what was not remembered, by reason.
         */
        get: operations["rejections"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Return the audit log: who changed or erased what, and when; never any text
         * @description Return the audit log: who changed or erased what, and when; never any text.
         */
        get: operations["audit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ontology": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Import tables, columns, values, relationships and a glossary from YAML, JSON or an object
         * @description Import tables, columns, values, relationships and a glossary from YAML, JSON or an object.
         */
        post: operations["import_ontology"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/terms": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the terms of the ontology, all or those that match a search
         * @description List the terms of the ontology, all or those that match a search.
         */
        get: operations["terms"];
        /**
         * Add a term, or change it
         * @description Add a term, or change it.
         */
        put: operations["put_term"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/terms/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a term, with what belongs to it
         * @description Delete a term, with what belongs to it.
         */
        delete: operations["drop_term"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/memory/user": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List a user's memories, the most important first
         * @description List a user's memories, the most important first.
         */
        get: operations["list_memories"];
        put?: never;
        /**
         * Remember something for a user
         * @description Remember something for a user.
         */
        post: operations["add_memory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/memory/user/{memory}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Forget a user's memory
         * @description Forget a user's memory.
         */
        delete: operations["drop_memory"];
        options?: never;
        head?: never;
        /**
         * Give a user's memory a new value
         * @description Give a user's memory a new value.
         */
        patch: operations["change_memory"];
        trace?: never;
    };
    "/api/projects/{project}/memory/user/{memory}/promote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a user's memory the project's; for admins
         * @description Make a user's memory the project's; for admins.
         */
        post: operations["promote_memory"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/knowledge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what the project knows
         * @description List what the project knows.
         */
        get: operations["list_knowledge"];
        put?: never;
        /**
         * Teach the whole project a fact
         * @description Teach the whole project a fact.
         */
        post: operations["add_knowledge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/knowledge/{memory}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Give a fact a new value
         * @description Give a fact a new value.
         */
        put: operations["change_knowledge"];
        post?: never;
        /**
         * Forget a fact
         * @description Forget a fact.
         */
        delete: operations["drop_knowledge"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/glossary": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the project's glossary, all of it or what matches a search
         * @description List the project's glossary, all of it or what matches a search.
         */
        get: operations["list_glossary"];
        put?: never;
        /**
         * Define a term for the project, or change its definition
         * @description Define a term for the project, or change its definition.
         */
        post: operations["put_glossary"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/glossary/{term}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete a term from the glossary
         * @description Delete a term from the glossary.
         */
        delete: operations["drop_glossary"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the databases of the project
         * @description List the databases of the project.
         */
        get: operations["list_data_sources"];
        put?: never;
        /**
         * Add a database: its schema is read, and a semantic model of it is drafted
         * @description Add a database: its schema is read, and a semantic model of it is drafted.
         */
        post: operations["add_data_source"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a database: its tables and its semantic model, as far as the caller may see them
         * @description Show a database: its tables and its semantic model, as far as the caller may see them.
         */
        get: operations["show_data_source"];
        put?: never;
        post?: never;
        /**
         * Remove a database from the project; nothing in the database changes
         * @description Remove a database from the project; nothing in the database changes.
         */
        delete: operations["drop_data_source"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/model": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Replace the semantic model of a database; what it names must exist
         * @description Replace the semantic model of a database; what it names must exist.
         */
        put: operations["put_model"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/access": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Set what each role may see of a database
         * @description Set what each role may see of a database.
         */
        put: operations["put_access"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read the schema of a database again
         * @description Read the schema of a database again. Approved queries for another schema are no longer used.
         */
        post: operations["refresh_data_source"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/text2sql": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Return the SQL for a question and the assumptions it rests on; or what has to be clarified first
         * @description Return the SQL for a question and the assumptions it rests on; or what has to be clarified first.
         */
        post: operations["text_to_sql"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/text2sql/clarify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a clarification: with one of its choices, or by saying what a term means
         * @description Answer a clarification: with one of its choices, or by saying what a term means. The answer to the question comes
         *     back at once. What is learned belongs to the user, or by its wording to the project, if the caller may teach it.
         */
        post: operations["clarify_question"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/text2sql/correct": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Correct a statement
         * @description Correct a statement. What the difference teaches is learned; the corrected one must be allowed to run.
         */
        post: operations["correct_sql"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/text2sql/feedback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rate a statement for a question
         * @description Rate a statement for a question. A good one answers the question again, for this user.
         */
        post: operations["rate_sql"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what a user asked of this database, the latest first, with the SQL and their rating; nothing about tables
         *     that the caller may not see now
         * @description List what a user asked of this database, the latest first, with the SQL and their rating; nothing about tables
         *     that the caller may not see now.
         */
        get: operations["query_history"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/queries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the questions that were proposed or approved for a database
         * @description List the questions that were proposed or approved for a database.
         */
        get: operations["list_queries"];
        put?: never;
        /**
         * Propose a question with its SQL; `{{name}}` in both is a parameter
         * @description Propose a question with its SQL; `{{name}}` in both is a parameter. The SQL must pass the checks.
         */
        post: operations["propose_query"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/queries/{query}/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check whether a query would still be allowed to run, and return the tables it reads
         * @description Check whether a query would still be allowed to run, and return the tables it reads.
         */
        post: operations["validate_query"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/queries/{query}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approve a query: from now on it answers its question
         * @description Approve a query: from now on it answers its question.
         */
        post: operations["approve_query"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/queries/{query}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject a query: it is never used
         * @description Reject a query: it is never used.
         */
        post: operations["reject_query"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/queries/{query}/execute": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run an approved query with values for its parameters
         * @description Run an approved query with values for its parameters.
         */
        post: operations["execute_query"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{project}/datasources/{source}/queries/{query}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Forget a query
         * @description Forget a query.
         */
        delete: operations["drop_query"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/answerQuestion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * As `POST /answerQuestion`, with the fields in the query
         * @description As `POST /answerQuestion`, with the fields in the query.
         */
        get: operations["answer_question_by_address"];
        put?: never;
        /**
         * Ask a database
         * @description Ask a database. With `user_id`, what was asked and taught before takes part, and the question is remembered.
         */
        post: operations["answer_question"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/answerDataQuestion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * As `POST /answerDataQuestion`, with the fields in the query
         * @description As `POST /answerDataQuestion`, with the fields in the query.
         */
        get: operations["answer_data_question_by_address"];
        put?: never;
        /**
         * Ask for data; the question is never taken as one about the schema
         * @description Ask for data; the question is never taken as one about the schema.
         */
        post: operations["answer_data_question"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/answerMetadataQuestion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * As `POST /answerMetadataQuestion`, with the fields in the query
         * @description As `POST /answerMetadataQuestion`, with the fields in the query.
         */
        get: operations["answer_metadata_question_by_address"];
        put?: never;
        /**
         * Ask what the database contains; no query is run
         * @description Ask what the database contains; no query is run.
         */
        post: operations["answer_metadata_question"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/streamAnswerQuestion": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * As `POST /streamAnswerQuestion`, with the fields in the query
         * @description As `POST /streamAnswerQuestion`, with the fields in the query.
         */
        get: operations["stream_answer_question_by_address"];
        put?: never;
        /**
         * Ask a database, and get the text of the answer as a stream
         * @description Ask a database, and get the text of the answer as a stream.
         */
        post: operations["stream_answer_question"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/generateVQL": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Return the SQL for a question, without running it
         * @description Return the SQL for a question, without running it.
         */
        post: operations["generate_vql"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/executeVQL": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run a given statement, checked like any other: it can only read, and only what the caller may see
         * @description Run a given statement, checked like any other: it can only read, and only what the caller may see.
         */
        post: operations["execute_vql"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/getMetadata": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the schemas of the databases again and return them; for data stewards and admins
         * @description Read the schemas of the databases again and return them; for data stewards and admins.
         */
        get: operations["get_metadata"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/deleteMetadata": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Forget the schemas of the databases, until they are read again; for data stewards and admins
         * @description Forget the schemas of the databases, until they are read again; for data stewards and admins.
         */
        delete: operations["delete_metadata"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/similaritySearch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Return the tables that match a text, best first
         * @description Return the tables that match a text, best first.
         */
        get: operations["similarity_search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/upload-ask/documents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the user's documents and the project's, the newest first
         * @description List the user's documents and the project's, the newest first.
         */
        get: operations["list_documents"];
        put?: never;
        /**
         * Add a document
         * @description Add a document. It is stored when this answers, and indexed in the background; the same bytes are one document.
         *     With `shared` all users of the project find it.
         */
        post: operations["upload_document"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/upload-ask/documents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show a document: its progress and size, or why it failed
         * @description Show a document: its progress and size, or why it failed.
         */
        get: operations["show_document"];
        put?: never;
        post?: never;
        /**
         * Erase a document with everything derived from it
         * @description Erase a document with everything derived from it. A shared one takes a caller who may change those.
         */
        delete: operations["delete_document"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/upload-ask/documents/{id}/passage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Return the text of a document at a citation, from one character to another, with its page and headings
         * @description Return the text of a document at a citation, from one character to another, with its page and headings.
         */
        get: operations["show_passage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/upload-ask/qa/query": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask the documents; the same as `query`, under its other name
         * @description Ask the documents; the same as `query`, under its other name.
         */
        post: operations["ask_documents_in_session"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/upload-ask/query": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask the documents
         * @description Ask the documents. The answer names its sources; question and answer are recorded.
         */
        post: operations["ask_documents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/upload-ask/qa/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the conversations in which a user asked documents, the latest first
         * @description List the conversations in which a user asked documents, the latest first.
         */
        get: operations["document_sessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/upload-ask/qa/sessions/{session_id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what was asked of documents in a session, oldest first, with the answers and their sources
         * @description List what was asked of documents in a session, oldest first, with the answers and their sources.
         */
        get: operations["document_logs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the keys of a project, also those that are no longer valid; never a secret
         * @description List the keys of a project, also those that are no longer valid; never a secret.
         */
        get: operations["list_keys"];
        put?: never;
        /**
         * Create an API key; for admins
         * @description Create an API key; for admins. The secret is only in this response. Once there is a key, every caller needs
         *     one.
         */
        post: operations["create_key"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a key: at once in this process, within half a minute in others
         * @description Revoke a key: at once in this process, within half a minute in others.
         */
        delete: operations["revoke_key"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/report": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Report how memory performs in a project: counts over all users, never any text, each compared with its limit
         * @description Report how memory performs in a project: counts over all users, never any text, each compared with its limit.
         */
        get: operations["report"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/work": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show the background work of all projects: what waits, fails or is parked, and why; for admins of all projects
         * @description Show the background work of all projects: what waits, fails or is parked, and why; for admins of all projects.
         */
        get: operations["work"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/work/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Try parked work again; `woken` counts the conversations
         * @description Try parked work again; `woken` counts the conversations.
         */
        post: operations["retry_work"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Say that the process answers
         * @description Say that the process answers.
         */
        get: operations["health"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check database, migrations and background work
         * @description Check database, migrations and background work. `degraded`: it answers, but something needs attention.
         */
        get: operations["ready"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Return the metrics for Prometheus
         * @description Return the metrics for Prometheus.
         */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AccessBody: {
            /**
             * @description What each role may see; a role that is not named sees everything.
             * @example {
             *       "user": {
             *         "hidden": {
             *           "orders": [
             *             "note"
             *           ]
             *         },
             *         "tables": [
             *           "orders"
             *         ]
             *       }
             *     }
             */
            access: {
                [key: string]: unknown;
            };
        };
        Alive: {
            status: string;
            version: string;
        };
        AnswerQuestionAnswer: {
            answer: string;
            sql_query: string;
            query_explanation: string;
            tokens: components["schemas"]["Tokens"];
            execution_result: components["schemas"]["ExecutionResult"];
            related_tables: string[];
            related_questions: string[];
            tables_used: string[];
            /** @description The chart as PNG in base64; empty without `plot`, or where no chart suits. */
            raw_graph: string;
            /** @description The same chart as a Vega-Lite specification. */
            chart: {
                [key: string]: unknown;
            } | null;
            /** @description What the rows are, in words. */
            title: string;
            /** @description Names of the columns in words, in their order. */
            headers: string[];
            /** @description There are more rows than `execution_result` has. */
            is_truncated: boolean;
            /** @description The number of all rows, if it is known. */
            total_rows: number | null;
            sql_execution_time: number;
            vector_store_search_time: number;
            llm_time: number;
            total_execution_time: number;
            llm_provider: string;
            llm_model: string;
            conversation_metadata: components["schemas"]["ConversationMetadata"] | null;
            memory_context_used: components["schemas"]["MemoryContextUsed"] | null;
            memory_retrieval_time: number | null;
            clarifications: components["schemas"]["ClarificationAnswer"][];
            assumptions: components["schemas"]["AssumptionAnswer"][];
            learned: components["schemas"]["LearnedAnswer"][];
            notes: string[];
            confidence: number;
            answer_ref: string | null;
        };
        /** @description What is stored of a key: everything but the secret. */
        ApiKey: {
            /** Format: uuid */
            id: string;
            prefix: string;
            name: string;
            /** @enum {string} */
            role: "admin" | "data" | "service" | "user";
            project: string | null;
            user: string | null;
            /** Format: date-time */
            created_at: string;
            created_by: string;
            expires_at: string | null;
            revoked_at: string | null;
            revoked_by: string | null;
            last_used_at: string | null;
        };
        ApprovedQueries: {
            queries: components["schemas"]["ApprovedQuery"][];
        };
        /** @description `is_current`: made for the schema that the database still has; a query that is not current is not used. */
        ApprovedQuery: {
            /** Format: uuid */
            id: string;
            prompt: string;
            sql: string;
            parameters: components["schemas"]["QueryParameter"][];
            /** @enum {string} */
            status: "pending" | "approved" | "rejected";
            usage_count: number;
            is_current: boolean;
            created_at: string | null;
        };
        /** @description The rank and score that one search arm gave a hit. */
        Arm: {
            rank: number;
            score: number;
        };
        AskBody: {
            /** @example Total sales by region for 2024 */
            question: string;
            /**
             * @description Draw a chart of the result, if it suits one.
             * @default false
             */
            plot?: boolean;
            /**
             * @description Which kind of chart.
             * @default
             * @example a pie chart
             */
            plot_details?: string;
            /** @default  */
            embeddings_provider?: string;
            /** @default  */
            embeddings_model?: string;
            /** @default  */
            vector_store_provider?: string;
            /**
             * @description Only `openai`: any compatible server, as configured.
             * @default
             */
            llm_provider?: string;
            /** @default  */
            llm_model?: string;
            /** @default 0 */
            llm_temperature?: number;
            /** @default 4096 */
            llm_max_tokens?: number;
            /**
             * @description Data sources, separated by commas; empty: all.
             * @default
             */
            vdp_database_names?: string;
            /** @default  */
            vdp_tag_names?: string;
            /** @default false */
            allow_external_associations?: boolean;
            /**
             * @description Tables that must be used: `source.table, ...`.
             * @default
             */
            use_views?: string;
            /**
             * @description false: use only the tables of `use_views`.
             * @default true
             */
            expand_set_views?: boolean;
            /** @default  */
            custom_instructions?: string;
            /** @default true */
            markdown_response?: boolean;
            /** @default 5 */
            vector_search_k?: number;
            /** @default 3 */
            vector_search_sample_data_k?: number;
            /** @default 20 */
            vector_search_total_limit?: number;
            /** @default 200 */
            vector_search_column_description_char_limit?: number;
            /** @default 1000 */
            vector_search_table_description_char_limit?: number;
            /**
             * @default default
             * @enum {string}
             */
            mode?: "default" | "data" | "metadata";
            /** @default true */
            disclaimer?: boolean;
            /**
             * @description false: the answer is the SQL alone, without related questions.
             * @default true
             */
            verbose?: boolean;
            /** @default true */
            check_ambiguity?: boolean;
            /** @default 100 */
            vql_execute_rows_limit?: number;
            /** @default 100 */
            llm_response_rows_limit?: number;
            /** @default true */
            enable_query_fixer?: boolean;
            /** @description Ask the model again if the result is empty. Left out: as `enable_query_fixer`. */
            enable_query_reviewer?: boolean | null;
            /** @example john@example.com */
            user_id?: string | null;
            session_id?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
            /** @default true */
            use_memory?: boolean;
            max_history_messages?: number | null;
            /** @description 0: none. */
            semantic_search_k?: number | null;
        };
        /** @description `model` is null if the answer is quoted from the documents; `refused`: they contain no answer; `errorStage` is set if the model failed and documents are quoted instead. */
        AskedAnswer: {
            answer: string;
            model: string | null;
            refused: boolean;
            sessionId: string;
            sources: components["schemas"]["SourceAnswer"][];
            memories: components["schemas"]["RecollectionAnswer"][];
            usedHistoryTokens: number;
            latencyMs: number;
            standaloneQuery: string;
            errorStage: ("llm_reply" | "retrieval") | null;
        };
        AssumptionAnswer: {
            term: string;
            meaning: string;
            source: string;
            confidence: number;
        };
        /** @description A stored audit entry. `subject` is what was changed, e.g. `memory:<id>`; `detail` has kinds and counts. */
        Audit: {
            /** Format: uuid */
            id: string;
            /** Format: date-time */
            at: string;
            actor: string;
            action: string;
            subject: string;
            detail: {
                [key: string]: unknown;
            };
        };
        AuditLog: {
            audit: components["schemas"]["Audit"][];
        };
        /**
         * @description One way in which a corrected query differs. `before` and `after` are names for substitutions, units for a grain,
         *     and otherwise SQL with full table names. `table` is the one that `after` (or, for a removal, `before`) is about.
         *     `word` is the question's own word that the wrong name came from, or the vague word whose meaning was changed.
         */
        Change: {
            /** @enum {string} */
            kind: "table_substitution" | "column_substitution" | "filter_addition" | "filter_removal" | "filter_change" | "aggregation" | "grouping" | "grain" | "join" | "order" | "limit" | "projection";
            table: string | null;
            before: string | null;
            after: string | null;
            word: string | null;
        };
        /** @description `ref` is the reply in the log; `model` is null if the reply was made from memory alone. */
        ChatAnswer: {
            response: string;
            session_id: string;
            latency_ms: number;
            memory: components["schemas"]["MemoryUse"];
            suggestions: string[];
            model: string | null;
            error_stage: ("llm_reply" | "retrieval") | null;
            ref: string | null;
            replayed: boolean;
        };
        ChatBody: {
            /** @example What's my name? */
            message: string;
            /**
             * @description Who speaks; by default the caller.
             * @example alex
             */
            user_id?: string | null;
            /** @description The conversation; without it a new one begins. */
            session_id?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
            /**
             * @description Where memory searches: auto widens the search if needed.
             * @default auto
             * @enum {string}
             */
            scope?: "auto" | "session" | "user";
            /**
             * @description Answer as server-sent events.
             * @default false
             */
            stream?: boolean;
        };
        ChatSession: {
            session_id: string;
            turns: components["schemas"]["ChatTurn"][];
            next_before: number | null;
        };
        ChatSessions: {
            sessions: components["schemas"]["SessionSummary"][];
        };
        /** @description `memory` is what was recalled for a reply. */
        ChatTurn: {
            source: string;
            role: string;
            text: string;
            at: string;
            memory: components["schemas"]["MemoryUse"] | null;
            model: string | null;
            error_stage: string | null;
        };
        ChoiceAnswer: {
            id: string;
            label: string;
        };
        /** @description `choices` can be sent back by id, number or label; each leads to an answer. `suggestions` are their labels. */
        ClarificationAnswer: {
            id: string;
            term: string;
            question: string;
            suggestions: string[];
            choices: components["schemas"]["ChoiceAnswer"][];
            category: string;
        };
        /** @description Either `clarification_id` and `choice`, or `term` and `answer`. */
        ClarifyBody: {
            /** @description The id of the clarification that is answered. */
            clarification_id?: string | null;
            /** @description The id, the number or the label of a choice. */
            choice?: string | number | null;
            /** @example active */
            term?: string | null;
            /** @example last_login_at > NOW() - INTERVAL '30 days' */
            answer?: string | null;
            /**
             * @default
             * @example How many active customers are there?
             */
            question?: string;
            /** @description Who asks; by default the caller. */
            user_id?: string | null;
            /**
             * @description The session.
             * @example monday
             */
            session_id?: string | null;
            /**
             * @description Run it too; the rows are in `metadata.execution_result`.
             * @default false
             */
            execute?: boolean;
            /** @default 100 */
            limit?: number;
        };
        /** @description OpenAI's request, forwarded as it is. These are the fields that memory reads. */
        CompletionBody: {
            /** @example gpt-4o-mini */
            model?: string | null;
            /**
             * @default []
             * @example [
             *       {
             *         "content": "What's my name?",
             *         "role": "user"
             *       }
             *     ]
             */
            messages?: {
                [key: string]: unknown;
            }[];
            /** @default false */
            stream?: boolean | null;
            /** @description The user, unless a header or `metadata.user_id` names one. */
            user?: string | null;
            /** @description The user, if nothing else names one. */
            safety_identifier?: string | null;
            /** @description `user_id` and `session_id` are read. */
            metadata?: {
                [key: string]: unknown;
            } | null;
        } & {
            [key: string]: unknown;
        };
        /** @description Text for a prompt, within its budget, each line with its source. */
        Context: {
            /** Format: uuid */
            request_id: string;
            question: string;
            budget: number;
            text: string;
            tokens: number;
            truncated: boolean;
            lines: components["schemas"]["Line"][];
            left_out: components["schemas"]["LeftOut"][];
            /** @enum {string} */
            scope_used: "session" | "user";
            widened: string | null;
            /** @enum {string} */
            path: "hybrid" | "fts" | "vector" | "trgm" | "window" | "none";
            notes: string[];
            memories: components["schemas"]["MemoryHit"][];
            episodes: components["schemas"]["EpisodeHit"][];
            resolved: components["schemas"]["Resolution"][];
        };
        ConversationMetadata: {
            conversation_id: string;
            session_id: string;
            session_name: string;
            message_count: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            expires_at: string | null;
            is_summarized: boolean;
        };
        CorrectBody: {
            /**
             * @description Whose memory; by default the caller's own.
             * @example alex
             */
            user?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
            /**
             * @description The session.
             * @example monday
             */
            session?: string | null;
            /**
             * @description A memory's id, or `memory:<id>` as citations name it.
             * @example 01890000-0000-7000-8000-000000000000
             */
            memory: string;
            /** @example logged in within 90 days */
            value: string;
        };
        CorrectSqlBody: {
            /** @example How many clients are there? */
            question: string;
            /** @example SELECT count(*) FROM users */
            generated_sql: string;
            /** @example SELECT count(*) FROM customers */
            corrected_sql: string;
            /** @description Who asks; by default the caller. */
            user_id?: string | null;
        };
        CorrectedSql: {
            equivalent: boolean;
            changes: components["schemas"]["Change"][];
            learned: components["schemas"]["Memory"][];
        };
        DataSource: {
            name: string;
            address: string | null;
            dialect: string;
            fingerprint: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            tables: components["schemas"]["SourceTable"][];
            model: {
                [key: string]: unknown;
            };
            access: {
                [key: string]: unknown;
            } | null;
        };
        DataSourceSummary: {
            name: string;
            address: string | null;
            dialect: string;
            fingerprint: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        DataSources: {
            datasources: components["schemas"]["DataSourceSummary"][];
        };
        /** @description Counts of one day. */
        Day: {
            /** Format: date */
            day: string;
            requests: number;
            users: number;
            hit: number;
            few_words: number;
            fallback: number;
            contexts: number;
            truncated: number;
            retrieval_p50: number | null;
            retrieval_p95: number | null;
        };
        DeletedMetadata: {
            deleted: string[];
        };
        /** @description `userId` is who added it; `failureReason` says why a document could not be read, and what to do. */
        DocumentAnswer: {
            /** Format: uuid */
            id: string;
            title: string;
            source: string;
            /** @enum {string} */
            status: "pending" | "processing" | "processed" | "failed";
            format: ("pdf" | "docx" | "pptx" | "xlsx" | "csv" | "html" | "markdown" | "text") | null;
            size: number;
            pages: number;
            chunks: number;
            characters: number;
            progress: number;
            userId: string;
            failureReason: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            shared: boolean;
        };
        DocumentQuestionBody: {
            /** @example How much is a tyre change? */
            query: string;
            sessionId?: string | null;
            /** @description Search only these documents. */
            documentIds?: string[] | null;
            topK?: number | null;
            /** @description The same as topK. */
            topKDocs?: number | null;
            /** @default 3 */
            topKMems?: number;
            /** @default 800 */
            maxHistoryTokens?: number;
            /** @default true */
            includeHistory?: boolean;
            /** @description Diversity of passages, by maximal marginal relevance: 1 is the plain order, 0.7 a good mix. */
            mmr?: number | null;
            /** @description Who asks; by default the caller. */
            userId?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
        };
        DocumentsAnswer: {
            items: components["schemas"]["DocumentAnswer"][];
        };
        /** @description A summary of the turns `first` to `last` of a session, both included. `tokens` is the size of `text`. */
        Episode: {
            ref: string;
            /** Format: uuid */
            id: string;
            session: string;
            first: number;
            last: number;
            summary: string;
            facts: string[];
            preferences: string[];
            decisions: string[];
            todos: string[];
            entities: string[];
            /** @enum {string} */
            learned_by: "rules" | "model";
            model: string | null;
            tokens: number;
            /** Format: date-time */
            said_from: string;
            /** Format: date-time */
            said_to: string;
            /** Format: date-time */
            created_at: string;
        };
        /** @description A summary of past turns that matches the question. */
        EpisodeHit: {
            source: string;
            why: string;
            episode: components["schemas"]["Episode"];
            /** @enum {string} */
            tier: "session" | "user" | "project" | "ontology";
            score: number;
            cosine: number | null;
            words: string[];
        };
        Episodes: {
            episodes: components["schemas"]["Episode"][];
        };
        ErrorDetail: {
            code: string;
            message: string;
            field?: string | null;
        };
        ErrorResponse: {
            error: components["schemas"]["ErrorDetail"];
        };
        ExecuteBody: {
            /** @example SELECT count(*) FROM orders */
            vql: string;
            /** @default 100 */
            limit?: number;
            /** @description Which database; by default the project's only one. */
            source?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
        };
        ExecuteQueryBody: {
            /**
             * @example {
             *       "year": "2023"
             *     }
             */
            parameters?: {
                [key: string]: string;
            };
            /** @default 100 */
            limit?: number;
        };
        ExecutedVql: {
            vql: string;
            execution_result: components["schemas"]["ExecutionResult"];
        };
        /** @description All rows, and those that a model is shown, each also as CSV; `{}` if there are none. */
        ExecutionResult: {
            /** @default [] */
            full?: {
                [key: string]: unknown;
            }[];
            /** @default  */
            full_csv?: string;
            /** @default [] */
            llm?: {
                [key: string]: unknown;
            }[];
            /** @default  */
            llm_csv?: string;
        };
        /** @description A recalled turn; `text` is None if the turn was forgotten since. */
        ExplainedHit: {
            why: string;
            source: string;
            /** @enum {string} */
            tier: "session" | "user" | "project" | "ontology";
            score: number;
            arms: {
                [key: string]: components["schemas"]["Arm"];
            };
            parts: {
                [key: string]: number;
            };
            words: string[];
            text: string | null;
            packed: boolean;
        };
        /**
         * @description A memory as it was used; `history` has every value ever stored under its key, oldest first, with its time and the
         *     reason it ended. Empty if it was forgotten since.
         */
        ExplainedMemory: {
            why: string;
            source: string;
            /** @enum {string} */
            tier: "session" | "user" | "project" | "ontology";
            score: number;
            words: string[];
            is_asked: boolean;
            packed: boolean;
            memory: components["schemas"]["Memory"] | null;
            history: components["schemas"]["Memory"][];
        };
        /** @description What a past request recalled and put into its context. */
        Explanation: {
            /** Format: uuid */
            request_id: string;
            /** Format: date-time */
            created_at: string;
            verb: string;
            query: string;
            session: string | null;
            /** @enum {string} */
            scope_used: "session" | "user";
            widened: string | null;
            path: string;
            found: number;
            used: number;
            terms: {
                [key: string]: number;
            };
            hits: components["schemas"]["ExplainedHit"][];
            left_out: components["schemas"]["LeftOut"][];
            notes: string[];
            tokens: number;
            budget: number;
            latency_ms: number;
            memories: components["schemas"]["ExplainedMemory"][];
            episodes: string[];
        };
        FeedbackBody: {
            /** @example How many customers are there? */
            question: string;
            /** @example SELECT count(*) FROM customers */
            sql: string;
            /**
             * @description Only SQL that was rated good or approved is used again.
             * @example true
             */
            good: boolean;
            /** @description Who asks; by default the caller. */
            user_id?: string | null;
        };
        /** @description A memory; or a session; or, with neither and `everything`, all of the user's data. */
        ForgetBody: {
            /**
             * @description Whose memory; by default the caller's own.
             * @example alex
             */
            user?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
            /**
             * @description The session.
             * @example monday
             */
            session?: string | null;
            memory?: string | null;
            /**
             * @description Must be true to forget a whole user.
             * @default false
             */
            everything?: boolean;
        };
        /** @description A figure against its limit. `argues_for` is what to do beyond it; `note` how it was measured, or why not. */
        Gauge: {
            name: string;
            value: number | null;
            limit: number;
            /** @enum {string} */
            unit: "share" | "s" | "ms" | "per session" | "per week" | "of 5";
            /** @enum {string} */
            verdict: "ok" | "over" | "under" | "too few" | "not measured";
            meaning: string;
            argues_for: string;
            note: string;
        };
        Glossary: {
            glossary: components["schemas"]["GlossaryEntry"][];
        };
        GlossaryBody: {
            /** @example active customer */
            term: string;
            /**
             * @default
             * @example logged in within the last 30 days
             */
            definition?: string;
            /** @example last_login_at > NOW() - INTERVAL '30 days' */
            defining_sql?: string | null;
            /** @example customers */
            base_table?: string | null;
            /**
             * @example [
             *       "active client"
             *     ]
             */
            aliases?: string[];
        };
        /** @description A term of the ontology: its meaning, the SQL that defines it, the table it is about, and its other names. */
        GlossaryEntry: {
            term: string;
            definition: string;
            defining_sql: string | null;
            base_table: string | null;
            aliases: string[];
        };
        History: {
            turns: components["schemas"]["Turn"][];
            next_before: number | null;
        };
        /** @description A turn that was found, how, and its score. `parts` add up to `score`. */
        Hit: {
            rank: number;
            source: string;
            /** @enum {string} */
            role: "user" | "assistant" | "system" | "tool";
            text: string;
            speaker: string | null;
            at: string | null;
            data: {
                [key: string]: unknown;
            } | null;
            high_value: boolean;
            session: string | null;
            index: number | null;
            /** @enum {string} */
            tier: "session" | "user" | "project" | "ontology";
            score: number;
            why: string;
            words: string[];
            arms: {
                [key: string]: components["schemas"]["Arm"];
            };
            parts: {
                [key: string]: number;
            };
        };
        /** @description How many terms an import added, changed, removed and left unchanged. */
        ImportReport: {
            added: number;
            changed: number;
            removed: number;
            unchanged: number;
        };
        /** @description What a new key allows. It is valid in `project`, or with `every_project` in all projects. */
        KeyBody: {
            /**
             * @example service
             * @enum {string}
             */
            role: "admin" | "data" | "service" | "user";
            /**
             * @description A name to recognize the key by.
             * @example web shop
             */
            name: string;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
            /**
             * @description For the roles service and admin.
             * @default false
             */
            every_project?: boolean;
            /** @description Whose key; for the role user. */
            user?: string | null;
            expires_at?: string | null;
        };
        Keys: {
            keys: components["schemas"]["ApiKey"][];
        };
        /** @description A memory of the project, under both of the names that front ends have for its fields. */
        Knowledge: {
            /** Format: uuid */
            id: string;
            value: string;
            /** @enum {string} */
            source: "clarification" | "correction" | "explicit" | "inferred" | "summary" | "qa_turn" | "manual";
            /** @enum {string} */
            status: "active" | "pending" | "superseded" | "retracted";
            usage_count: number;
            created_at: string | null;
            fact: string;
            category: string;
            fact_type: string;
            context: string | null;
        };
        /** @description Both `{fact, category}` and `{fact_type, value, context}` are accepted. */
        KnowledgeBody: {
            /** @example The fiscal year ends in March. */
            fact?: string | null;
            /** @example fiscal_year */
            category?: string | null;
            fact_type?: string | null;
            value?: string | null;
            context?: string | null;
        };
        KnowledgeList: {
            knowledge: components["schemas"]["Knowledge"][];
            next: string | null;
        };
        /** @description What a choice or an answer taught; deleting the memory takes it back. */
        LearnedAnswer: {
            id: string;
            term: string;
            meaning: string;
            scope: string;
        };
        /** @description A result that is not in the context, and why. */
        LeftOut: {
            source: string;
            reason: string;
            is_over_budget: boolean;
        };
        LessonBody: {
            /**
             * @description Whose memory; by default the caller's own.
             * @example alex
             */
            user?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
            /**
             * @description The session.
             * @example monday
             */
            session?: string | null;
            /** @example logged in within 30 days */
            value: string;
            /**
             * @default note
             * @example active
             */
            key?: string;
            /**
             * @default note
             * @example definition
             * @enum {string}
             */
            kind?: "identity" | "preference" | "constraint" | "instruction" | "fact" | "decision" | "todo" | "terminology" | "definition" | "correction" | "question" | "note";
            /**
             * @default explicit
             * @enum {string}
             */
            source?: "clarification" | "correction" | "explicit" | "inferred" | "summary" | "qa_turn" | "manual";
            owner?: ("user" | "project") | null;
            confidence?: number | null;
            /** @default 0.6 */
            importance?: number;
            /** @description What the application attaches. */
            data?: {
                [key: string]: unknown;
            } | null;
            question?: string | null;
            /** @default false */
            pending?: boolean;
            /**
             * @description The turn it comes from.
             * @example monday#1
             */
            said_in?: string | null;
        };
        /** @description One numbered line of a context. `source` names the turn, memory, episode or term it comes from. */
        Line: {
            number: number;
            /** @enum {string} */
            section: "terms" | "known" | "episodes" | "recalled" | "recent";
            source: string;
            tokens: number;
            excerpt: boolean;
            recent: boolean;
            text: string;
        };
        LogAnswer: {
            id: string;
            sessionId: string;
            queryText: string;
            responseText: string;
            latencyMs: number;
            sources: components["schemas"]["SourceAnswer"][];
            /** Format: date-time */
            createdAt: string;
        };
        LogsAnswer: {
            logs: components["schemas"]["LogAnswer"][];
        };
        MarkBody: {
            /**
             * @description Whose memory; by default the caller's own.
             * @example alex
             */
            user?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
            /**
             * @description The session.
             * @example monday
             */
            session?: string | null;
            /** @example monday#3 */
            ref: string;
            /** @default true */
            high_value?: boolean;
        };
        /** @description What one tier says. `source` names the memory or the term; `refs` are the turns a memory rests on. */
        Meaning: {
            /** @enum {string} */
            tier: "session" | "user" | "project" | "ontology";
            meaning: string;
            confidence: number;
            source: string;
            refs: string[];
            sql: string | null;
            memory: string | null;
        };
        /**
         * @description One thing known about a user or a project. `refs` are the turns it rests on, newest first; `confidence` is after
         *     decay.
         */
        Memory: {
            ref: string;
            text: string;
            /** Format: uuid */
            id: string;
            /** @enum {string} */
            kind: "identity" | "preference" | "constraint" | "instruction" | "fact" | "decision" | "todo" | "terminology" | "definition" | "correction" | "question" | "note";
            key: string;
            value: string;
            confidence: number;
            importance: number;
            /** @enum {string} */
            source: "clarification" | "correction" | "explicit" | "inferred" | "summary" | "qa_turn" | "manual";
            /** @enum {string} */
            learned_by: "rules" | "model" | "person";
            /** @enum {string} */
            status: "active" | "pending" | "superseded" | "retracted";
            /** Format: date-time */
            valid_from: string;
            valid_to: string | null;
            reason: string | null;
            replaced_by: string | null;
            refs: string[];
            data: {
                [key: string]: unknown;
            } | null;
            terms: string[];
            usage_count: number;
            last_used_at: string | null;
            created_at: string | null;
            place: string;
        };
        /** @description Names the user and project of a memory; its id is in the path. */
        MemoryBody: {
            /**
             * @description Whose memory; by default the caller's own.
             * @example alex
             */
            user?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
        };
        MemoryContextUsed: {
            history_messages_count: number;
            similar_queries_count: number;
            context_tokens: number;
            context_truncated: boolean;
            memory_enabled: boolean;
        };
        /** @description A memory that matches the question, or that is in every context. */
        MemoryHit: {
            source: string;
            why: string;
            memory: components["schemas"]["Memory"];
            /** @enum {string} */
            tier: "session" | "user" | "project" | "ontology";
            score: number;
            words: string[];
            is_asked: boolean;
            is_outdated: boolean;
        };
        MemoryList: {
            memories: components["schemas"]["Memory"][];
            next: string | null;
        };
        /**
         * @description What memory contributed to an answer. `sources` are references of the turns, memories and episodes used;
         *     `rewritten` is the question as it was searched, if different; `notes` are problems.
         */
        MemoryUse: {
            request_id: string | null;
            scope_used: ("session" | "user") | null;
            widened: string | null;
            path: ("hybrid" | "fts" | "vector" | "trgm" | "window" | "none") | null;
            hits_found: number;
            hits_used: number;
            facts: number;
            episodes: number;
            tokens: number;
            truncated: boolean;
            notes: string[];
            rewritten: string | null;
            learned_by: ("rules" | "model" | "person")[];
            sources: string[];
        };
        Metadata: {
            databases: components["schemas"]["MetadataDatabase"][];
        };
        MetadataDatabase: {
            database: string;
            changed: boolean;
            views: components["schemas"]["MetadataView"][];
        };
        MetadataView: {
            view: string;
            columns: string[];
        };
        ModelBody: {
            /**
             * @description The semantic model, as a mapping or as YAML.
             * @example tables:
             *       customers:
             *         names: [customer, client]
             */
            model: {
                [key: string]: unknown;
            } | string;
        };
        NameBody: {
            /** @example Launch in Lisbon */
            name: string;
            user_id?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
        };
        /** @description `secret` is only in this response; a replay under the same idempotency key has null. */
        NewKey: {
            /** Format: uuid */
            id: string;
            prefix: string;
            name: string;
            /** @enum {string} */
            role: "admin" | "data" | "service" | "user";
            project: string | null;
            user: string | null;
            /** Format: date-time */
            created_at: string;
            created_by: string;
            expires_at: string | null;
            revoked_at: string | null;
            revoked_by: string | null;
            last_used_at: string | null;
            secret: string | null;
        };
        OntologyBody: {
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
            /**
             * @description YAML or JSON text, or the same as an object.
             * @example {
             *       "tables": {
             *         "customers": {
             *           "description": "One row per person.",
             *           "synonyms": [
             *             "clients"
             *           ]
             *         }
             *       }
             *     }
             */
            source: string | {
                [key: string]: unknown;
            };
            /** @default false */
            replace?: boolean;
        };
        ParameterBody: {
            /** @example year */
            name: string;
            /**
             * @default text
             * @enum {string}
             */
            type?: "text" | "integer" | "number" | "date" | "year";
            default?: string | null;
            example?: string | null;
        };
        PassageAnswer: {
            text: string;
            start: number;
            end: number;
            page: number | null;
            headings: string[];
            /** Format: uuid */
            documentId: string;
            pageEnd: number | null;
        };
        PastQuestion: {
            ref: string;
            session: string;
            question: string;
            sql: string;
            tables: string[];
            /** Format: date-time */
            at: string;
            feedback: string | null;
        };
        PastQuestions: {
            queries: components["schemas"]["PastQuestion"][];
        };
        QueryBody: {
            /**
             * @description Whose memory; by default the caller's own.
             * @example alex
             */
            user?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
            /**
             * @description The session.
             * @example monday
             */
            session?: string | null;
            /**
             * @description The question.
             * @example how many clients signed up in May?
             */
            text: string;
            /**
             * @default auto
             * @enum {string}
             */
            scope?: "auto" | "session" | "user";
            /**
             * @default [
             *       "turn",
             *       "memory",
             *       "episode"
             *     ]
             */
            kinds?: ("turn" | "memory" | "episode")[];
            as_of?: string | null;
            /**
             * @description How many hits a recall returns.
             * @default 10
             */
            limit?: number;
            /**
             * @description Tokens of a context.
             * @default 2000
             */
            budget?: number;
            max_turns?: number | null;
            /** @default 600 */
            turn_chars?: number;
            recent?: number | null;
            /** @default 0 */
            recency?: number;
            /** @default [] */
            exclude?: string[];
            /**
             * @default {}
             * @example {
             *       "recent": "the last 7 days"
             *     }
             */
            definitions?: {
                [key: string]: string;
            };
        };
        QueryExecution: {
            sql: string;
            tables: string[];
            execution_result: components["schemas"]["ExecutionResult"];
        };
        QueryParameter: {
            name: string;
            type: string;
            default?: string | null;
            example?: string | null;
        };
        QueryProposal: {
            /** @example sales in {{year}} */
            prompt: string;
            /** @example SELECT sum(amount) FROM sales WHERE year = {{year}} */
            sql: string;
            parameters?: components["schemas"]["ParameterBody"][];
        };
        QueryValidation: {
            valid: boolean;
            reason: string | null;
            tables: string[];
        };
        QuestionBody: {
            /** @example How many active customers are there? */
            question: string;
            /** @description Who asks; by default the caller. */
            user_id?: string | null;
            /**
             * @description The session.
             * @example monday
             */
            session_id?: string | null;
            /**
             * @description Run it too; the rows are in `metadata.execution_result`.
             * @default false
             */
            execute?: boolean;
            /** @default 100 */
            limit?: number;
        };
        Ready: {
            status: string;
            store: string;
            embedder: string | null;
            model: string | null;
            work: {
                [key: string]: unknown;
            } | null;
            notes: string[];
        };
        /** @description What was found, best first. `notes` says what could not be done, such as searching by vectors. */
        Recall: {
            /** Format: uuid */
            request_id: string;
            question: string;
            hits: components["schemas"]["Hit"][];
            found: number;
            counts: {
                [key: string]: number;
            };
            /** @enum {string} */
            scope_used: "session" | "user";
            widened: string | null;
            /** @enum {string} */
            path: "hybrid" | "fts" | "vector" | "trgm" | "window" | "none";
            terms: {
                [key: string]: number;
            };
            notes: string[];
            memories: components["schemas"]["MemoryHit"][];
            episodes: components["schemas"]["EpisodeHit"][];
            resolved: components["schemas"]["Resolution"][];
        };
        RecallManyBody: {
            /**
             * @description Whose memory; by default the caller's own.
             * @example alex
             */
            user?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
            /**
             * @description The session.
             * @example monday
             */
            session?: string | null;
            /**
             * @description Each may name its own user, project and session.
             * @example [
             *       {
             *         "text": "how many clients?"
             *       },
             *       {
             *         "text": "who is Dana?"
             *       }
             *     ]
             */
            queries: components["schemas"]["QueryBody"][];
        };
        Recalls: {
            recalls: components["schemas"]["Recall"][];
        };
        /**
         * @description What an erasure removed, counted per table. `session` is None if one memory or the whole user was forgotten.
         *     `rebuilt` counts memories that were rebuilt from evidence that was not erased.
         */
        Receipt: {
            total: number;
            user: string;
            session: string | null;
            /** Format: date-time */
            at: string;
            rows: {
                [key: string]: number;
            };
            memory: string | null;
            rebuilt: number;
        };
        RecollectionAnswer: {
            id: string;
            source: string;
            preview: string;
            score: number;
        };
        RecordBody: {
            /**
             * @description Whose memory; by default the caller's own.
             * @example alex
             */
            user?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
            /**
             * @description The session.
             * @example monday
             */
            session?: string | null;
            /**
             * @example [
             *       {
             *         "role": "user",
             *         "text": "Call our customers clients, please."
             *       },
             *       {
             *         "role": "assistant",
             *         "text": "I will."
             *       }
             *     ]
             */
            turns: components["schemas"]["TurnBody"][];
        };
        /**
         * @description What `record` appended: the turns of `conversation` from index `first` on. `replayed` if the key was used
         *     before.
         */
        Recorded: {
            /** Format: uuid */
            id: string;
            session: string;
            name: string;
            turns: number;
            interactions: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            expires_at: string | null;
            refs: string[];
            replayed: boolean;
        };
        RecordedSessions: {
            refs: string[];
            sessions: components["schemas"]["Recorded"][];
        };
        Rejections: {
            rejections: {
                [key: string]: number;
            };
        };
        /** @description How memory performed in a project over a period: counts over all users, each compared with its limit. */
        Report: {
            project: string;
            /** Format: date-time */
            since: string;
            /** Format: date-time */
            until: string;
            totals: components["schemas"]["Totals"];
            days: components["schemas"]["Day"][];
            paths: {
                [key: string]: number;
            };
            errors: {
                [key: string]: number;
            };
            latencies: {
                [key: string]: number;
            };
            learned: {
                [key: string]: number;
            };
            rejected: {
                [key: string]: number;
            };
            triggers: components["schemas"]["Gauge"][];
            goals: components["schemas"]["Gauge"][];
            notes: string[];
            asking: components["schemas"]["Week"][];
            storage: components["schemas"]["ScopeStorage"][];
        };
        /** @description What a term means, from the first tier that knows; `candidates` are the other meanings, best first. */
        Resolution: {
            is_resolved: boolean;
            term: string;
            meaning: string | null;
            tier: ("session" | "user" | "project" | "ontology") | null;
            confidence: number;
            source: string | null;
            refs: string[];
            sql: string | null;
            memory: string | null;
            candidates: components["schemas"]["Meaning"][];
            why: string;
        };
        Resolutions: {
            resolutions: components["schemas"]["Resolution"][];
            notes: string[];
        };
        ResolveBody: {
            /**
             * @description Whose memory; by default the caller's own.
             * @example alex
             */
            user?: string | null;
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
            /**
             * @description The session.
             * @example monday
             */
            session?: string | null;
            /**
             * @example [
             *       "active",
             *       "clients"
             *     ]
             */
            terms: string[];
            /** @default {} */
            definitions?: {
                [key: string]: string;
            };
        };
        Retried: {
            woken: number;
        };
        /** @description What is stored for a user, or, without a user, for the project. Bytes of texts and files, without indexes. */
        ScopeStorage: {
            /** Format: uuid */
            scope: string;
            user: string | null;
            turns: number;
            memories: number;
            documents: number;
            bytes: number;
        };
        SessionAnswer: {
            id: string;
            title: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        SessionSummary: {
            session_id: string;
            name: string;
            turns: number;
            interactions: number;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            expires_at: string | null;
        };
        SessionsAnswer: {
            sessions: components["schemas"]["SessionAnswer"][];
        };
        SimilarView: {
            view_name: string;
            view_text: string;
            score?: number | null;
        };
        SimilarViews: {
            views: components["schemas"]["SimilarView"][];
        };
        /** @description `start` and `end` are the characters that the answer quotes, or those of the chunk. */
        SourceAnswer: {
            page: number | null;
            score: number;
            preview: string;
            start: number;
            end: number;
            cited: boolean;
            /** Format: uuid */
            documentId: string;
            chunkIndex: number;
            pageEnd: number | null;
        };
        SourceBody: {
            /** @example shop */
            name: string;
            /**
             * @description `${NAME}` is replaced from the server's environment, so that no password need be stored.
             * @example postgresql://reader:${SHOP_PASSWORD}@db/shop
             */
            dsn: string;
            /**
             * @description What each role may see; a role that is not named sees everything.
             * @example {
             *       "user": {
             *         "rows": {
             *           "orders": "region = 'North'"
             *         },
             *         "tables": [
             *           "orders"
             *         ]
             *       }
             *     }
             */
            access?: {
                [key: string]: unknown;
            } | null;
        };
        SourceColumn: {
            name: string;
            type: string;
        };
        SourceTable: {
            name: string;
            comment: string;
            rows: number | null;
            columns: components["schemas"]["SourceColumn"][];
        };
        /**
         * @description A term of the ontology. `data` has further properties: type, semantic_type, base_table, joins and others from the
         *     file.
         */
        Term: {
            ref: string;
            name: string;
            /** @enum {string} */
            kind: "table" | "column" | "value" | "relationship" | "glossary";
            description: string;
            synonyms: string[];
            sql: string | null;
            data: {
                [key: string]: unknown;
            };
        };
        TermBody: {
            /**
             * @description The project; by default the caller's.
             * @example shop
             */
            project?: string | null;
            /** @example orders.total */
            name: string;
            /**
             * @example column
             * @enum {string}
             */
            kind: "table" | "column" | "value" | "relationship" | "glossary";
            /** @default  */
            description?: string;
            /** @default [] */
            synonyms?: string[];
            sql?: string | null;
            /** @default {} */
            data?: {
                [key: string]: unknown;
            };
        };
        Terms: {
            terms: components["schemas"]["Term"][];
        };
        Text2SqlAnswer: {
            sql: string;
            confidence: number;
            tables_used: string[];
            examples_found: number;
            needs_clarification: boolean;
            clarifications: components["schemas"]["ClarificationAnswer"][];
            assumptions: components["schemas"]["AssumptionAnswer"][];
            pattern_used: string | null;
            learned: components["schemas"]["LearnedAnswer"][];
            metadata: {
                [key: string]: unknown;
            };
        };
        Tokens: {
            input_tokens: number;
            output_tokens: number;
            total_tokens: number;
        };
        /** @description Counts over the whole period; percentiles in milliseconds, None if nothing was timed. */
        Totals: {
            requests: number;
            users: number;
            sessions: number;
            contexts: number;
            few_words: number;
            fallback: number;
            only_vectors: number;
            hit: number;
            hits_found: number;
            hits_used: number;
            truncated: number;
            summaries_only: number;
            tokens: number;
            budget: number;
            retrieval_p50: number | null;
            retrieval_p95: number | null;
            llm_timed: number;
            llm_p50: number | null;
            llm_p95: number | null;
            whole_p95: number | null;
            follow_ups: number;
            follow_ups_helped: number;
            conversations: number;
            questions: number;
            due: number;
            failing: number;
            parked: number;
            messages: number;
            reply_ms: number;
            summary_ms: number;
            summaries: number;
            corrections: number;
            thumbs_down: number;
            reproaches: number;
            weeks: number;
        };
        /** @description A conversation that a stage fails on. If `next_try` is in the past, a worker is about to retry. */
        Trouble: {
            /** Format: uuid */
            scope: string;
            /** Format: uuid */
            conversation: string;
            attempts: number;
            parked: string[];
            /** Format: date-time */
            failed_at: string;
            next_try: string | null;
            error: string;
        };
        /** @description One message. The caller gives role and text; the log adds `session`, `index` and the time. */
        Turn: {
            source: string;
            /** @enum {string} */
            role: "user" | "assistant" | "system" | "tool";
            text: string;
            speaker: string | null;
            at: string | null;
            data: {
                [key: string]: unknown;
            } | null;
            high_value: boolean;
            session: string | null;
            index: number | null;
        };
        TurnBody: {
            /**
             * @example user
             * @enum {string}
             */
            role: "user" | "assistant" | "system" | "tool";
            /** @example Call our customers clients, please. */
            text: string;
            speaker?: string | null;
            at?: string | null;
            /** @description What the application attaches. */
            data?: {
                [key: string]: unknown;
            } | null;
            /** @default false */
            high_value?: boolean;
        };
        UploadedAnswer: {
            document: components["schemas"]["DocumentAnswer"];
        };
        /** @description A user's memory, with the field names of the text-to-SQL API. */
        UserMemoryBody: {
            /**
             * @description Whose memory; by default the caller's own.
             * @example alex
             */
            user_id?: string | null;
            /** @example definition */
            type?: ("terminology" | "preference" | "definition" | "correction") | null;
            /** @example active */
            key: string;
            /** @example logged in within 30 days */
            value: string;
            /**
             * @default explicit
             * @enum {string}
             */
            source?: "clarification" | "correction" | "explicit" | "inferred" | "summary" | "qa_turn" | "manual";
            confidence?: number | null;
        };
        UserMemoryPatch: {
            /** @example logged in within 90 days */
            value: string;
            /**
             * @description Whose memory; by default the caller's own.
             * @example alex
             */
            user_id?: string | null;
        };
        /**
         * @description Questions to databases in the week that begins on this Monday.
         *
         *     Learning shows in two shares: that of `asked_back` in `asked` should fall, that of `repeated_answered` in `repeated`
         *     should rise. A user's question is repeated if they asked it before, within the weeks of the report.
         */
        Week: {
            /** Format: date */
            week: string;
            asked: number;
            asked_back: number;
            chosen: number;
            corrected: number;
            repeated: number;
            repeated_answered: number;
        };
        /**
         * @description `lag` is how long the oldest conversation has waited, in seconds; `documents_lag` the same for unread documents.
         *     A failed document waits for its uploader.
         */
        WorkStatus: {
            ok: boolean;
            due: number;
            leased: number;
            failing: number;
            parked: number;
            lag: number;
            troubles: components["schemas"]["Trouble"][];
            documents_waiting: number;
            documents_failed: number;
            documents_lag: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type AccessBody = components['schemas']['AccessBody'];
export type Alive = components['schemas']['Alive'];
export type AnswerQuestionAnswer = components['schemas']['AnswerQuestionAnswer'];
export type ApiKey = components['schemas']['ApiKey'];
export type ApprovedQueries = components['schemas']['ApprovedQueries'];
export type ApprovedQuery = components['schemas']['ApprovedQuery'];
export type Arm = components['schemas']['Arm'];
export type AskBody = components['schemas']['AskBody'];
export type AskedAnswer = components['schemas']['AskedAnswer'];
export type AssumptionAnswer = components['schemas']['AssumptionAnswer'];
export type Audit = components['schemas']['Audit'];
export type AuditLog = components['schemas']['AuditLog'];
export type Change = components['schemas']['Change'];
export type ChatAnswer = components['schemas']['ChatAnswer'];
export type ChatBody = components['schemas']['ChatBody'];
export type ChatSession = components['schemas']['ChatSession'];
export type ChatSessions = components['schemas']['ChatSessions'];
export type ChatTurn = components['schemas']['ChatTurn'];
export type ChoiceAnswer = components['schemas']['ChoiceAnswer'];
export type ClarificationAnswer = components['schemas']['ClarificationAnswer'];
export type ClarifyBody = components['schemas']['ClarifyBody'];
export type CompletionBody = components['schemas']['CompletionBody'];
export type Context = components['schemas']['Context'];
export type ConversationMetadata = components['schemas']['ConversationMetadata'];
export type CorrectBody = components['schemas']['CorrectBody'];
export type CorrectSqlBody = components['schemas']['CorrectSqlBody'];
export type CorrectedSql = components['schemas']['CorrectedSql'];
export type DataSource = components['schemas']['DataSource'];
export type DataSourceSummary = components['schemas']['DataSourceSummary'];
export type DataSources = components['schemas']['DataSources'];
export type Day = components['schemas']['Day'];
export type DeletedMetadata = components['schemas']['DeletedMetadata'];
export type DocumentAnswer = components['schemas']['DocumentAnswer'];
export type DocumentQuestionBody = components['schemas']['DocumentQuestionBody'];
export type DocumentsAnswer = components['schemas']['DocumentsAnswer'];
export type Episode = components['schemas']['Episode'];
export type EpisodeHit = components['schemas']['EpisodeHit'];
export type Episodes = components['schemas']['Episodes'];
export type ErrorDetail = components['schemas']['ErrorDetail'];
export type ErrorResponse = components['schemas']['ErrorResponse'];
export type ExecuteBody = components['schemas']['ExecuteBody'];
export type ExecuteQueryBody = components['schemas']['ExecuteQueryBody'];
export type ExecutedVql = components['schemas']['ExecutedVql'];
export type ExecutionResult = components['schemas']['ExecutionResult'];
export type ExplainedHit = components['schemas']['ExplainedHit'];
export type ExplainedMemory = components['schemas']['ExplainedMemory'];
export type Explanation = components['schemas']['Explanation'];
export type FeedbackBody = components['schemas']['FeedbackBody'];
export type ForgetBody = components['schemas']['ForgetBody'];
export type Gauge = components['schemas']['Gauge'];
export type Glossary = components['schemas']['Glossary'];
export type GlossaryBody = components['schemas']['GlossaryBody'];
export type GlossaryEntry = components['schemas']['GlossaryEntry'];
export type History = components['schemas']['History'];
export type Hit = components['schemas']['Hit'];
export type ImportReport = components['schemas']['ImportReport'];
export type KeyBody = components['schemas']['KeyBody'];
export type Keys = components['schemas']['Keys'];
export type Knowledge = components['schemas']['Knowledge'];
export type KnowledgeBody = components['schemas']['KnowledgeBody'];
export type KnowledgeList = components['schemas']['KnowledgeList'];
export type LearnedAnswer = components['schemas']['LearnedAnswer'];
export type LeftOut = components['schemas']['LeftOut'];
export type LessonBody = components['schemas']['LessonBody'];
export type Line = components['schemas']['Line'];
export type LogAnswer = components['schemas']['LogAnswer'];
export type LogsAnswer = components['schemas']['LogsAnswer'];
export type MarkBody = components['schemas']['MarkBody'];
export type Meaning = components['schemas']['Meaning'];
export type Memory = components['schemas']['Memory'];
export type MemoryBody = components['schemas']['MemoryBody'];
export type MemoryContextUsed = components['schemas']['MemoryContextUsed'];
export type MemoryHit = components['schemas']['MemoryHit'];
export type MemoryList = components['schemas']['MemoryList'];
export type MemoryUse = components['schemas']['MemoryUse'];
export type Metadata = components['schemas']['Metadata'];
export type MetadataDatabase = components['schemas']['MetadataDatabase'];
export type MetadataView = components['schemas']['MetadataView'];
export type ModelBody = components['schemas']['ModelBody'];
export type NameBody = components['schemas']['NameBody'];
export type NewKey = components['schemas']['NewKey'];
export type OntologyBody = components['schemas']['OntologyBody'];
export type ParameterBody = components['schemas']['ParameterBody'];
export type PassageAnswer = components['schemas']['PassageAnswer'];
export type PastQuestion = components['schemas']['PastQuestion'];
export type PastQuestions = components['schemas']['PastQuestions'];
export type QueryBody = components['schemas']['QueryBody'];
export type QueryExecution = components['schemas']['QueryExecution'];
export type QueryParameter = components['schemas']['QueryParameter'];
export type QueryProposal = components['schemas']['QueryProposal'];
export type QueryValidation = components['schemas']['QueryValidation'];
export type QuestionBody = components['schemas']['QuestionBody'];
export type Ready = components['schemas']['Ready'];
export type Recall = components['schemas']['Recall'];
export type RecallManyBody = components['schemas']['RecallManyBody'];
export type Recalls = components['schemas']['Recalls'];
export type Receipt = components['schemas']['Receipt'];
export type RecollectionAnswer = components['schemas']['RecollectionAnswer'];
export type RecordBody = components['schemas']['RecordBody'];
export type Recorded = components['schemas']['Recorded'];
export type RecordedSessions = components['schemas']['RecordedSessions'];
export type Rejections = components['schemas']['Rejections'];
export type Report = components['schemas']['Report'];
export type Resolution = components['schemas']['Resolution'];
export type Resolutions = components['schemas']['Resolutions'];
export type ResolveBody = components['schemas']['ResolveBody'];
export type Retried = components['schemas']['Retried'];
export type ScopeStorage = components['schemas']['ScopeStorage'];
export type SessionAnswer = components['schemas']['SessionAnswer'];
export type SessionSummary = components['schemas']['SessionSummary'];
export type SessionsAnswer = components['schemas']['SessionsAnswer'];
export type SimilarView = components['schemas']['SimilarView'];
export type SimilarViews = components['schemas']['SimilarViews'];
export type SourceAnswer = components['schemas']['SourceAnswer'];
export type SourceBody = components['schemas']['SourceBody'];
export type SourceColumn = components['schemas']['SourceColumn'];
export type SourceTable = components['schemas']['SourceTable'];
export type Term = components['schemas']['Term'];
export type TermBody = components['schemas']['TermBody'];
export type Terms = components['schemas']['Terms'];
export type Text2SqlAnswer = components['schemas']['Text2SqlAnswer'];
export type Tokens = components['schemas']['Tokens'];
export type Totals = components['schemas']['Totals'];
export type Trouble = components['schemas']['Trouble'];
export type Turn = components['schemas']['Turn'];
export type TurnBody = components['schemas']['TurnBody'];
export type UploadedAnswer = components['schemas']['UploadedAnswer'];
export type UserMemoryBody = components['schemas']['UserMemoryBody'];
export type UserMemoryPatch = components['schemas']['UserMemoryPatch'];
export type Week = components['schemas']['Week'];
export type WorkStatus = components['schemas']['WorkStatus'];
export type $defs = Record<string, never>;
export interface operations {
    record: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecordBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecordedSessions"];
                };
            };
        };
    };
    recall: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueryBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recall"];
                };
            };
        };
    };
    recall_many: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecallManyBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Recalls"];
                };
            };
        };
    };
    context: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueryBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Context"];
                };
            };
        };
    };
    resolve: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResolveBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Resolutions"];
                };
            };
        };
    };
    learn: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LessonBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
        };
    };
    correct: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CorrectBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
        };
    };
    forget: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ForgetBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    history: {
        parameters: {
            query: {
                /** @description Whose memory; by default the caller's own. */
                user?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                /** @description The session. */
                session: string;
                limit?: number;
                before?: number | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
        };
    };
    explain: {
        parameters: {
            query?: {
                /** @description Whose memory; by default the caller's own. */
                user?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
            };
            header?: never;
            path: {
                request_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
        };
    };
    export: {
        parameters: {
            query?: {
                /** @description Whose memory; by default the caller's own. */
                user?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One JSON object per line; `kind` says what it is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                };
            };
        };
    };
    chat: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatBody"];
            };
        };
        responses: {
            /** @description The answer; with `stream`, events: `delta` {text} for each piece, then `done` with the answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatAnswer"];
                    "text/event-stream": {
                        /** @enum {unknown} */
                        event: "delta" | "done";
                        data: string;
                    };
                };
            };
        };
    };
    chat_sessions: {
        parameters: {
            query?: {
                /** @description Whose chat; by default the caller's own. */
                user_id?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                limit?: number;
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatSessions"];
                };
            };
        };
    };
    chat_session: {
        parameters: {
            query?: {
                /** @description Whose chat; by default the caller's own. */
                user_id?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                limit?: number;
                before?: number | null;
            };
            header?: never;
            path: {
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatSession"];
                };
            };
        };
    };
    delete_chat_session: {
        parameters: {
            query?: {
                /** @description Whose chat; by default the caller's own. */
                user_id?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
            };
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    rename_chat_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                session_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NameBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionSummary"];
                };
            };
        };
    };
    complete_chat: {
        parameters: {
            query?: never;
            header?: {
                /** @description The user; wins over every field of the body; by default the caller. */
                "X-Recollect-User"?: string;
                /** @description The conversation; wins over `metadata.session_id`; by default named by its first message. */
                "X-Recollect-Session"?: string;
                /** @description The project; by default the caller's. */
                "X-Recollect-Project"?: string;
                /** @description `off`: the request is forwarded unchanged; nothing is recalled or recorded. */
                "X-Recollect-Memory"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CompletionBody"];
            };
        };
        responses: {
            /** @description The upstream's answer. `X-Recollect-Memory` says what memory did, `X-Recollect-Request` is for `explain`, `X-Recollect-Session` names the conversation. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                    "text/event-stream": string;
                };
            };
        };
    };
    list_models: {
        parameters: {
            query?: never;
            header?: {
                /** @description The project; by default the caller's. */
                "X-Recollect-Project"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The upstream's answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    memories: {
        parameters: {
            query?: {
                /** @description Whose memory; by default the caller's own. */
                user?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                kind?: ("identity" | "preference" | "constraint" | "instruction" | "fact" | "decision" | "todo" | "terminology" | "definition" | "correction" | "question" | "note")[] | null;
                key?: string | null;
                status?: ("active" | "pending" | "superseded" | "retracted")[] | null;
                all?: boolean;
                owner?: "user" | "project";
                as_of?: string | null;
                limit?: number;
                /** @description `next` of the page before. */
                after?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryList"];
                };
            };
        };
    };
    close: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                memory: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemoryBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
        };
    };
    promote: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                memory: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemoryBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
        };
    };
    approve: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                memory: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemoryBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
        };
    };
    reject: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                memory: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemoryBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
        };
    };
    redact: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                memory: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MemoryBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    episodes: {
        parameters: {
            query?: {
                /** @description Whose memory; by default the caller's own. */
                user?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                session?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Episodes"];
                };
            };
        };
    };
    mark: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MarkBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    rejections: {
        parameters: {
            query?: {
                /** @description Whose memory; by default the caller's own. */
                user?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Rejections"];
                };
            };
        };
    };
    audit: {
        parameters: {
            query?: {
                /** @description Whose memory; by default the caller's own. */
                user?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                owner?: "user" | "project";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditLog"];
                };
            };
        };
    };
    import_ontology: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["OntologyBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportReport"];
                };
            };
        };
    };
    terms: {
        parameters: {
            query?: {
                /** @description The project; by default the caller's. */
                project?: string | null;
                search?: string | null;
                kind?: ("table" | "column" | "value" | "relationship" | "glossary") | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Terms"];
                };
            };
        };
    };
    put_term: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TermBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Term"];
                };
            };
        };
    };
    drop_term: {
        parameters: {
            query?: {
                /** @description The project; by default the caller's. */
                project?: string | null;
                kind?: ("table" | "column" | "value" | "relationship" | "glossary") | null;
            };
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_memories: {
        parameters: {
            query?: {
                /** @description Whose memory; by default the caller's own. */
                user_id?: string | null;
                limit?: number;
                after?: string | null;
            };
            header?: never;
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryList"];
                };
            };
        };
    };
    add_memory: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserMemoryBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
        };
    };
    drop_memory: {
        parameters: {
            query?: {
                /** @description Whose memory; by default the caller's own. */
                user_id?: string | null;
            };
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                memory: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    change_memory: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                memory: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserMemoryPatch"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
        };
    };
    promote_memory: {
        parameters: {
            query?: {
                /** @description Whose memory; by default the caller's own. */
                user_id?: string | null;
            };
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                memory: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
        };
    };
    list_knowledge: {
        parameters: {
            query?: {
                limit?: number;
                after?: string | null;
            };
            header?: never;
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeList"];
                };
            };
        };
    };
    add_knowledge: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KnowledgeBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Knowledge"];
                };
            };
        };
    };
    change_knowledge: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                memory: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KnowledgeBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Knowledge"];
                };
            };
        };
    };
    drop_knowledge: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                memory: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    list_glossary: {
        parameters: {
            query?: {
                search?: string | null;
            };
            header?: never;
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Glossary"];
                };
            };
        };
    };
    put_glossary: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GlossaryBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GlossaryEntry"];
                };
            };
        };
    };
    drop_glossary: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                term: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_data_sources: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataSources"];
                };
            };
        };
    };
    add_data_source: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SourceBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataSource"];
                };
            };
        };
    };
    show_data_source: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project: string;
                source: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataSource"];
                };
            };
        };
    };
    drop_data_source: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                source: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    put_model: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                source: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ModelBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataSource"];
                };
            };
        };
    };
    put_access: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                source: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AccessBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataSource"];
                };
            };
        };
    };
    refresh_data_source: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                source: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataSource"];
                };
            };
        };
    };
    text_to_sql: {
        parameters: {
            query?: never;
            header?: {
                /** @description JSON: time_focus, user_segment, exclude_test, custom_filters, definitions. */
                "X-Session-Context"?: string | null;
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                source: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QuestionBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Text2SqlAnswer"];
                };
            };
        };
    };
    clarify_question: {
        parameters: {
            query?: never;
            header?: {
                /** @description JSON: time_focus, user_segment, exclude_test, custom_filters, definitions. */
                "X-Session-Context"?: string | null;
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                source: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClarifyBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Text2SqlAnswer"];
                };
            };
        };
    };
    correct_sql: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                source: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CorrectSqlBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CorrectedSql"];
                };
            };
        };
    };
    rate_sql: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                source: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FeedbackBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
        };
    };
    query_history: {
        parameters: {
            query?: {
                /** @description Whose; by default the caller's own. */
                user_id?: string | null;
                limit?: number;
            };
            header?: never;
            path: {
                project: string;
                source: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PastQuestions"];
                };
            };
        };
    };
    list_queries: {
        parameters: {
            query?: {
                /** @description Only these. */
                status?: ("pending" | "approved" | "rejected") | null;
            };
            header?: never;
            path: {
                project: string;
                source: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovedQueries"];
                };
            };
        };
    };
    propose_query: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                source: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueryProposal"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovedQuery"];
                };
            };
        };
    };
    validate_query: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project: string;
                source: string;
                query: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueryValidation"];
                };
            };
        };
    };
    approve_query: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                source: string;
                query: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovedQuery"];
                };
            };
        };
    };
    reject_query: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                source: string;
                query: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovedQuery"];
                };
            };
        };
    };
    execute_query: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project: string;
                source: string;
                query: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExecuteQueryBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueryExecution"];
                };
            };
        };
    };
    drop_query: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                project: string;
                source: string;
                query: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    answer_question_by_address: {
        parameters: {
            query: {
                question: string;
                /** @description Draw a chart of the result, if it suits one. */
                plot?: boolean;
                /** @description Which kind of chart. */
                plot_details?: string;
                embeddings_provider?: string;
                embeddings_model?: string;
                vector_store_provider?: string;
                /** @description Only `openai`: any compatible server, as configured. */
                llm_provider?: string;
                llm_model?: string;
                llm_temperature?: number;
                llm_max_tokens?: number;
                /** @description Data sources, separated by commas; empty: all. */
                vdp_database_names?: string;
                vdp_tag_names?: string;
                allow_external_associations?: boolean;
                /** @description Tables that must be used: `source.table, ...`. */
                use_views?: string;
                /** @description false: use only the tables of `use_views`. */
                expand_set_views?: boolean;
                custom_instructions?: string;
                markdown_response?: boolean;
                vector_search_k?: number;
                vector_search_sample_data_k?: number;
                vector_search_total_limit?: number;
                vector_search_column_description_char_limit?: number;
                vector_search_table_description_char_limit?: number;
                mode?: "default" | "data" | "metadata";
                disclaimer?: boolean;
                /** @description false: the answer is the SQL alone, without related questions. */
                verbose?: boolean;
                check_ambiguity?: boolean;
                vql_execute_rows_limit?: number;
                llm_response_rows_limit?: number;
                enable_query_fixer?: boolean;
                /** @description Ask the model again if the result is empty. Left out: as `enable_query_fixer`. */
                enable_query_reviewer?: boolean | null;
                user_id?: string | null;
                session_id?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                use_memory?: boolean;
                max_history_messages?: number | null;
                /** @description 0: none. */
                semantic_search_k?: number | null;
            };
            header?: {
                /** @description JSON: time_focus, user_segment, exclude_test, custom_filters, definitions. */
                "X-Session-Context"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerQuestionAnswer"];
                };
            };
        };
    };
    answer_question: {
        parameters: {
            query?: never;
            header?: {
                /** @description JSON: time_focus, user_segment, exclude_test, custom_filters, definitions. */
                "X-Session-Context"?: string | null;
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerQuestionAnswer"];
                };
            };
        };
    };
    answer_data_question_by_address: {
        parameters: {
            query: {
                question: string;
                /** @description Draw a chart of the result, if it suits one. */
                plot?: boolean;
                /** @description Which kind of chart. */
                plot_details?: string;
                embeddings_provider?: string;
                embeddings_model?: string;
                vector_store_provider?: string;
                /** @description Only `openai`: any compatible server, as configured. */
                llm_provider?: string;
                llm_model?: string;
                llm_temperature?: number;
                llm_max_tokens?: number;
                /** @description Data sources, separated by commas; empty: all. */
                vdp_database_names?: string;
                vdp_tag_names?: string;
                allow_external_associations?: boolean;
                /** @description Tables that must be used: `source.table, ...`. */
                use_views?: string;
                /** @description false: use only the tables of `use_views`. */
                expand_set_views?: boolean;
                custom_instructions?: string;
                markdown_response?: boolean;
                vector_search_k?: number;
                vector_search_sample_data_k?: number;
                vector_search_total_limit?: number;
                vector_search_column_description_char_limit?: number;
                vector_search_table_description_char_limit?: number;
                mode?: "default" | "data" | "metadata";
                disclaimer?: boolean;
                /** @description false: the answer is the SQL alone, without related questions. */
                verbose?: boolean;
                check_ambiguity?: boolean;
                vql_execute_rows_limit?: number;
                llm_response_rows_limit?: number;
                enable_query_fixer?: boolean;
                /** @description Ask the model again if the result is empty. Left out: as `enable_query_fixer`. */
                enable_query_reviewer?: boolean | null;
                user_id?: string | null;
                session_id?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                use_memory?: boolean;
                max_history_messages?: number | null;
                /** @description 0: none. */
                semantic_search_k?: number | null;
            };
            header?: {
                /** @description JSON: time_focus, user_segment, exclude_test, custom_filters, definitions. */
                "X-Session-Context"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerQuestionAnswer"];
                };
            };
        };
    };
    answer_data_question: {
        parameters: {
            query?: never;
            header?: {
                /** @description JSON: time_focus, user_segment, exclude_test, custom_filters, definitions. */
                "X-Session-Context"?: string | null;
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerQuestionAnswer"];
                };
            };
        };
    };
    answer_metadata_question_by_address: {
        parameters: {
            query: {
                question: string;
                /** @description Draw a chart of the result, if it suits one. */
                plot?: boolean;
                /** @description Which kind of chart. */
                plot_details?: string;
                embeddings_provider?: string;
                embeddings_model?: string;
                vector_store_provider?: string;
                /** @description Only `openai`: any compatible server, as configured. */
                llm_provider?: string;
                llm_model?: string;
                llm_temperature?: number;
                llm_max_tokens?: number;
                /** @description Data sources, separated by commas; empty: all. */
                vdp_database_names?: string;
                vdp_tag_names?: string;
                allow_external_associations?: boolean;
                /** @description Tables that must be used: `source.table, ...`. */
                use_views?: string;
                /** @description false: use only the tables of `use_views`. */
                expand_set_views?: boolean;
                custom_instructions?: string;
                markdown_response?: boolean;
                vector_search_k?: number;
                vector_search_sample_data_k?: number;
                vector_search_total_limit?: number;
                vector_search_column_description_char_limit?: number;
                vector_search_table_description_char_limit?: number;
                mode?: "default" | "data" | "metadata";
                disclaimer?: boolean;
                /** @description false: the answer is the SQL alone, without related questions. */
                verbose?: boolean;
                check_ambiguity?: boolean;
                vql_execute_rows_limit?: number;
                llm_response_rows_limit?: number;
                enable_query_fixer?: boolean;
                /** @description Ask the model again if the result is empty. Left out: as `enable_query_fixer`. */
                enable_query_reviewer?: boolean | null;
                user_id?: string | null;
                session_id?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                use_memory?: boolean;
                max_history_messages?: number | null;
                /** @description 0: none. */
                semantic_search_k?: number | null;
            };
            header?: {
                /** @description JSON: time_focus, user_segment, exclude_test, custom_filters, definitions. */
                "X-Session-Context"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerQuestionAnswer"];
                };
            };
        };
    };
    answer_metadata_question: {
        parameters: {
            query?: never;
            header?: {
                /** @description JSON: time_focus, user_segment, exclude_test, custom_filters, definitions. */
                "X-Session-Context"?: string | null;
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerQuestionAnswer"];
                };
            };
        };
    };
    stream_answer_question_by_address: {
        parameters: {
            query: {
                question: string;
                /** @description Draw a chart of the result, if it suits one. */
                plot?: boolean;
                /** @description Which kind of chart. */
                plot_details?: string;
                embeddings_provider?: string;
                embeddings_model?: string;
                vector_store_provider?: string;
                /** @description Only `openai`: any compatible server, as configured. */
                llm_provider?: string;
                llm_model?: string;
                llm_temperature?: number;
                llm_max_tokens?: number;
                /** @description Data sources, separated by commas; empty: all. */
                vdp_database_names?: string;
                vdp_tag_names?: string;
                allow_external_associations?: boolean;
                /** @description Tables that must be used: `source.table, ...`. */
                use_views?: string;
                /** @description false: use only the tables of `use_views`. */
                expand_set_views?: boolean;
                custom_instructions?: string;
                markdown_response?: boolean;
                vector_search_k?: number;
                vector_search_sample_data_k?: number;
                vector_search_total_limit?: number;
                vector_search_column_description_char_limit?: number;
                vector_search_table_description_char_limit?: number;
                mode?: "default" | "data" | "metadata";
                disclaimer?: boolean;
                /** @description false: the answer is the SQL alone, without related questions. */
                verbose?: boolean;
                check_ambiguity?: boolean;
                vql_execute_rows_limit?: number;
                llm_response_rows_limit?: number;
                enable_query_fixer?: boolean;
                /** @description Ask the model again if the result is empty. Left out: as `enable_query_fixer`. */
                enable_query_reviewer?: boolean | null;
                user_id?: string | null;
                session_id?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                use_memory?: boolean;
                max_history_messages?: number | null;
                /** @description 0: none. */
                semantic_search_k?: number | null;
            };
            header?: {
                /** @description JSON: time_focus, user_segment, exclude_test, custom_filters, definitions. */
                "X-Session-Context"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer as a stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    stream_answer_question: {
        parameters: {
            query?: never;
            header?: {
                /** @description JSON: time_focus, user_segment, exclude_test, custom_filters, definitions. */
                "X-Session-Context"?: string | null;
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskBody"];
            };
        };
        responses: {
            /** @description The answer as a stream. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    generate_vql: {
        parameters: {
            query?: never;
            header?: {
                /** @description JSON: time_focus, user_segment, exclude_test, custom_filters, definitions. */
                "X-Session-Context"?: string | null;
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerQuestionAnswer"];
                };
            };
        };
    };
    execute_vql: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExecuteBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutedVql"];
                };
            };
        };
    };
    get_metadata: {
        parameters: {
            query?: {
                /** @description The project; by default the caller's. */
                project?: string | null;
                /** @description Databases, separated by commas; empty: all. */
                vdp_database_names?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Metadata"];
                };
            };
        };
    };
    delete_metadata: {
        parameters: {
            query?: {
                /** @description The project; by default the caller's. */
                project?: string | null;
                /** @description Databases, separated by commas; empty: all. */
                vdp_database_names?: string;
            };
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedMetadata"];
                };
            };
        };
    };
    similarity_search: {
        parameters: {
            query: {
                /** @description The project; by default the caller's. */
                project?: string | null;
                query: string;
                /** @description Databases, separated by commas; empty: all. */
                vdp_database_names?: string;
                n_results?: number;
                scores?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SimilarViews"];
                };
            };
        };
    };
    list_documents: {
        parameters: {
            query?: {
                /** @description Whose; by default the caller's own. */
                userId?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                /** @description Only these, such as `pending,failed`. */
                status?: string | null;
                limit?: number;
                /** @description The last document of the page before. */
                after?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentsAnswer"];
                };
            };
        };
    };
    upload_document: {
        parameters: {
            query?: {
                /** @description Whose; by default the caller's own. */
                userId?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
            };
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    /**
                     * Format: binary
                     * @example (the file)
                     */
                    file: Blob;
                    /** @description By default the file's name. */
                    title?: string;
                    /**
                     * @description For all users of the project.
                     * @default false
                     */
                    shared?: boolean;
                };
            };
        };
        responses: {
            /** @description Successful Response */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UploadedAnswer"];
                };
            };
        };
    };
    show_document: {
        parameters: {
            query?: {
                /** @description Whose; by default the caller's own. */
                userId?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentAnswer"];
                };
            };
        };
    };
    delete_document: {
        parameters: {
            query?: {
                /** @description Whose; by default the caller's own. */
                userId?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                /** @description It is the project's. */
                shared?: boolean;
            };
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Receipt"];
                };
            };
        };
    };
    show_passage: {
        parameters: {
            query?: {
                /** @description Whose; by default the caller's own. */
                userId?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                start?: number;
                end?: number | null;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PassageAnswer"];
                };
            };
        };
    };
    ask_documents_in_session: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DocumentQuestionBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AskedAnswer"];
                };
            };
        };
    };
    ask_documents: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DocumentQuestionBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AskedAnswer"];
                };
            };
        };
    };
    document_sessions: {
        parameters: {
            query?: {
                /** @description Whose; by default the caller's own. */
                userId?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                limit?: number;
                offset?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsAnswer"];
                };
            };
        };
    };
    document_logs: {
        parameters: {
            query?: {
                /** @description Whose; by default the caller's own. */
                userId?: string | null;
                /** @description The project; by default the caller's. */
                project?: string | null;
                /** @description Turns of the session to search, from its end. */
                limit?: number;
                before?: number | null;
            };
            header?: never;
            path: {
                session_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogsAnswer"];
                };
            };
        };
    };
    list_keys: {
        parameters: {
            query?: {
                /** @description The project; by default the caller's. */
                project?: string | null;
                /** @description Keys of all projects; takes an admin of all projects. */
                every_project?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Keys"];
                };
            };
        };
    };
    create_key: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KeyBody"];
            };
        };
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewKey"];
                };
            };
        };
    };
    revoke_key: {
        parameters: {
            query?: {
                /** @description The project; by default the caller's. */
                project?: string | null;
                /** @description Keys of all projects; takes an admin of all projects. */
                every_project?: boolean;
            };
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiKey"];
                };
            };
        };
    };
    report: {
        parameters: {
            query?: {
                /** @description The project; by default the caller's. */
                project?: string | null;
                /** @description How many days, today included. */
                days?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Report"];
                };
            };
        };
    };
    work: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkStatus"];
                };
            };
        };
    };
    retry_work: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key and body again get the same answer, and nothing is done twice. */
                "Idempotency-Key"?: string | null;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Retried"];
                };
            };
        };
    };
    health: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Alive"];
                };
            };
        };
    };
    ready: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ready"];
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Successful Response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
}
